/** Which section of the guide explains each operation of REST, each of its tags, and the root fields of GraphQL. */
import { pathOfFile, slugify } from "./contents.ts";

export interface GuideSection {
  /** Relative to `docs/`. */
  file: string;
  /** Text of the heading; null means the whole page. */
  heading: string | null;
}

export const section = (file: string, heading: string | null = null): GuideSection => ({
  file: `${file}.md`,
  heading,
});

const endpoints = (heading: string): GuideSection => section("guide/webhooks/endpoints", heading);
const deliveries = (heading: string): GuideSection => section("guide/webhooks/deliveries", heading);
const apiKeys = (heading: string): GuideSection => section("guide/api-keys", heading);
const listEndpoints = endpoints("List and read endpoints");
const createEndpoint = endpoints("Create an endpoint");
const changeEndpoint = endpoints("Change an endpoint");
const deleteEndpoint = endpoints("Delete an endpoint");
const testEndpoint = endpoints("Send a test event");
const pauseEndpoint = endpoints("Pause and resume");
const retryEndpoint = endpoints("Retry now");

/** By the name of the tag in OpenAPI. */
export const tagSections: Readonly<Record<string, GuideSection>> = {
  Jobs: section("guide/jobs"),
  Events: section("guide/mirror"),
  Reference: section("guide/jobs", "Status codes"),
  Webhooks: section("guide/webhooks/endpoints"),
  "Webhook events": section("guide/webhooks/events"),
  Account: section("guide/authentication", "Check a key"),
  "API keys": section("guide/api-keys"),
  Test: section("guide/test-mode"),
};

/** By `operationId`, webhooks included. */
export const operationSections: Readonly<Record<string, GuideSection>> = {
  listJobs: section("guide/jobs", "List jobs"),
  getJob: section("guide/jobs", "Read one job"),
  lookUpJobs: section("guide/lookup"),
  getJobStats: section("guide/stats"),
  createTestJobs: section("guide/test-mode", "Create test jobs"),
  reassignTestJob: section("guide/test-mode", "Reassign a job"),
  startTestRun: section("guide/test-mode", "Run a job"),
  cancelTestRun: section("guide/test-mode", "Cancel a run"),
  sendSampleEvent: section("guide/test-mode", "Send an event"),
  resetTestData: section("guide/test-mode", "Delete test data"),
  listJobHistory: section("guide/jobs", "History"),
  listStatuses: section("guide/jobs", "Status codes"),
  listFailureReasons: section("guide/jobs", "Failure reasons"),
  updateJob: section("guide/updating", "Update one job"),
  updateJobs: section("guide/updating", "Update up to 100 jobs"),
  rescheduleJobs: section("guide/updating", "Reschedule jobs"),
  listEvents: section("guide/mirror", "Follow the feed"),
  listWebhookEndpoints: listEndpoints,
  createWebhookEndpoint: createEndpoint,
  getWebhookEndpoint: listEndpoints,
  updateWebhookEndpoint: changeEndpoint,
  deleteWebhookEndpoint: deleteEndpoint,
  sendTestEvent: testEndpoint,
  rotateWebhookSecret: endpoints("Replace the secret"),
  pauseWebhookEndpoint: pauseEndpoint,
  resumeWebhookEndpoint: pauseEndpoint,
  retryWebhookEndpoint: retryEndpoint,
  replayWebhookDeliveries: deliveries("Replay a time range"),
  replayWebhookDelivery: deliveries("Replay one delivery"),
  replaySelectedWebhookDeliveries: deliveries("Replay selected deliveries"),
  listWebhookDeliveries: deliveries("Delivery log"),
  getWebhookDelivery: deliveries("Read one delivery"),
  listWebhookEndpointAttempts: deliveries("Delivery log"),
  getMe: section("guide/authentication", "Check a key"),
  listApiKeys: apiKeys("List keys"),
  createApiKey: apiKeys("Create a key"),
  rotateApiKey: apiKeys("Replace a key"),
  revokeApiKey: apiKeys("Revoke a key"),
  listRequests: section("guide/requests", "List requests"),
  getRequest: section("guide/requests", "Read one request"),
  onJobCreated: section("guide/webhooks/events", "job.created"),
  onJobUpdated: section("guide/webhooks/events", "job.updated"),
  onJobStatusChanged: section("guide/webhooks/events", "job.status_changed"),
  onJobAssigned: section("guide/webhooks/events", "job.assigned"),
  onJobUnassigned: section("guide/webhooks/events", "job.unassigned"),
  onJobDeleted: section("guide/webhooks/events", "job.deleted"),
  onWebhookTest: section("guide/webhooks/events", "webhook.test"),
};

const queries = (heading: string): GuideSection => section("guide/graphql/queries", heading);
const mutations = (heading: string): GuideSection => section("guide/graphql/mutations", heading);
const members = section("guide/console", "Members");
const singleSignOn = section("guide/single-sign-on", "Set it up");
const notifications = section("guide/console", "Notifications");
const accountRequests = section("operate/console", "Reviewing requests");
const organizations = section("operate/console", "Organisations");
const importing = section("operate/console", "Importing jobs");
const operatorJobs = section("operate/console", "Jobs from a program");
const statuses = section("operate/console", "Statuses, endpoints and tasks");
const outbox = section("operate/console", "The outbox");

/** By the name of the field of `Query`, `Mutation` or `Subscription`. */
export const rootFieldSections: Readonly<Record<string, GuideSection>> = {
  viewer: section("guide/graphql/overview", "Limits"),
  node: section("guide/graphql/overview", "Pages"),
  nodes: section("guide/graphql/overview", "Pages"),
  job: queries("History of a job"),
  jobs: queries("Late jobs, most overdue first"),
  jobsByMarkingNumber: queries("Look up jobs by Marking Number"),
  jobStats: queries("Jobs of a day by status"),
  webhookDeliveries: queries("Failed webhook deliveries"),
  jobStatuses: section("guide/jobs", "Status codes"),
  failureReasons: section("guide/jobs", "Failure reasons"),
  events: section("guide/graphql/subscriptions", "Catch up after an interruption"),
  jobChanged: section("guide/graphql/subscriptions", "Subscribe"),
  webhookEndpoints: listEndpoints,
  webhookEndpoint: listEndpoints,
  apiKeys: mutations("Rotate an API key"),
  members,
  invitations: members,
  singleSignOn,
  requestLog: section("guide/requests", "List requests"),
  usage: section("guide/console", "Requests and usage"),
  auditLog: members,
  jobsToday: section("guide/console", "The dashboard"),
  notifications,
  savedViews: section("guide/console", "Jobs"),
  organizations,
  organizationOverview: organizations,
  organizationsNeedingAttention: organizations,
  accountRequests,
  failingWebhookEndpoints: statuses,
  mailOutbox: outbox,
  updateJob: mutations("Update jobs"),
  updateJobs: mutations("Update jobs"),
  rescheduleJobs: mutations("Reschedule jobs"),
  createWebhookEndpoint: createEndpoint,
  updateWebhookEndpoint: changeEndpoint,
  deleteWebhookEndpoint: deleteEndpoint,
  sendTestEvent: testEndpoint,
  pauseWebhookEndpoint: pauseEndpoint,
  resumeWebhookEndpoint: pauseEndpoint,
  retryWebhookEndpoint: retryEndpoint,
  replayDelivery: deliveries("Replay one delivery"),
  replaySelectedDeliveries: deliveries("Replay selected deliveries"),
  replayDeliveries: mutations("Replay what failed"),
  rotateWebhookSecret: endpoints("Replace the secret"),
  revealWebhookSecret: createEndpoint,
  createApiKey: apiKeys("Create a key"),
  rotateApiKey: mutations("Rotate an API key"),
  revokeApiKey: mutations("Rotate an API key"),
  inviteMember: members,
  resendInvitation: members,
  revokeInvitation: members,
  removeMember: members,
  setMemberRole: members,
  setTimeZone: members,
  setNotifications: notifications,
  setNotificationWebhook: notifications,
  sendTestNotification: notifications,
  setSingleSignOn: singleSignOn,
  verifySingleSignOnDomain: singleSignOn,
  removeSingleSignOn: singleSignOn,
  saveView: section("guide/console", "Jobs"),
  shareView: section("guide/console", "Jobs"),
  deleteView: section("guide/console", "Jobs"),
  approveAccountRequest: accountRequests,
  rejectAccountRequest: accountRequests,
  askAccountRequestQuestion: accountRequests,
  addAccountRequestNote: accountRequests,
  resendRegistration: accountRequests,
  suspendOrganization: organizations,
  restoreOrganization: organizations,
  renameOrganization: organizations,
  viewAsOrganization: organizations,
  allowJobImport: importing,
  resetMemberTwoFactor: organizations,
  resendMail: outbox,
  upsertJobStatus: statuses,
  createJobs: operatorJobs,
  assignJobs: operatorJobs,
  setProviderStatus: operatorJobs,
  createTestJobs: section("guide/test-mode", "Create test jobs"),
  reassignTestJob: section("guide/test-mode", "Reassign a job"),
  runTestJob: section("guide/test-mode", "Run a job"),
  cancelTestRun: section("guide/test-mode", "Cancel a run"),
  sendSampleEvent: section("guide/test-mode", "Send an event"),
  resetTestData: section("guide/test-mode", "Delete test data"),
};

/**
 * Returns the section that explains an operation or a tag: its path below `/guide/`, such as `jobs#list-jobs`, and its heading.
 * Null if the guide has none.
 */
export function guideSectionOf(name: string): { path: string; heading: string | null } | null {
  const { file, heading } = operationSections[name] ?? tagSections[name] ?? {};
  if (file === undefined || heading === undefined) return null;
  return { path: pathOfFile(file) + (heading === null ? "" : `#${slugify(heading)}`), heading };
}
