/** Which section of the guide explains each type of the GraphQL schema. */
import { getNamedType, isScalarType, type GraphQLNamedType, type GraphQLSchema } from "graphql";
import { rootFieldSections, section, type GuideSection } from "./api-sections.ts";

const jobs = (heading: string): GuideSection => section("guide/jobs", heading);
const queries = (heading: string): GuideSection => section("guide/graphql/queries", heading);
const jobObject = jobs("The job object");
const history = jobs("History");
const statusCodes = jobs("Status codes");
const failureReasons = jobs("Failure reasons");
const filter = queries("Search with a nested filter");
const order = queries("Late jobs, most overdue first");
const stats = queries("Jobs of a day by status");
const updates = section("guide/graphql/mutations", "Update jobs");
const errors = section("guide/graphql/mutations", "Errors");
const pages = section("guide/graphql/overview", "Pages");
const limits = section("guide/graphql/overview", "Limits");
const rateLimits = section("guide/limits", "Rate limits");
const principal = section("guide/authentication", "Check a key");
const visibility = section("guide/authentication", "Who sees which jobs");
const members = section("guide/console", "Members");
const singleSignOn = section("guide/single-sign-on", "Set it up");
const notifications = section("guide/console", "Notifications");
const requests = section("guide/requests", "List requests");
const run = section("guide/test-mode", "Run a job");
const newEndpoint = section("guide/webhooks/endpoints", "Create an endpoint");
const failingEndpoint = section("guide/webhooks/reliability", "When an endpoint keeps failing");
const deliveryLog = section("guide/webhooks/deliveries", "Delivery log");
const delivery = section("guide/webhooks/deliveries", "Read one delivery");
const accountRequests = section("operate/console", "Reviewing requests");
const organizations = section("operate/console", "Organisations");
const outbox = section("operate/console", "The outbox");

/** By the name of the type. The others have the section of a root field: see `typeSectionOf`. */
export const typeSections: Readonly<Record<string, GuideSection>> = {
  Job: jobObject,
  DateTime: jobObject,
  LocalDate: jobObject,
  ID: pages,
  Node: pages,
  PageInfo: pages,
  SortDirection: order,
  UserError: errors,
  UserErrorCode: errors,
  JobStatus: statusCodes,
  JobStatusCategory: statusCodes,
  FailureReason: failureReasons,
  FailureReasonStatus: failureReasons,
  FailureNextStep: failureReasons,
  JobEvent: history,
  JobEventType: history,
  Actor: history,
  ActorType: history,
  FieldChange: history,
  JSON: history,
  JobFilter: filter,
  StringFilter: filter,
  CodeFilter: filter,
  LocalDateFilter: filter,
  DateTimeFilter: filter,
  NumberFilter: filter,
  ListedNumbers: queries("Find a pasted list of Marking Numbers"),
  JobOrder: order,
  JobOrderField: order,
  JobGroupKey: stats,
  JobStats: stats,
  JobStatsGroup: stats,
  JobStatsKey: stats,
  JobPatch: updates,
  UpdateJobInput: updates,
  BulkErrorPolicy: updates,
  BulkOutcome: updates,
  BulkJobResult: updates,
  Viewer: principal,
  ViewerKind: principal,
  Scope: section("guide/authentication", "Scopes"),
  Limits: limits,
  RateLimit: rateLimits,
  RateLimitClass: rateLimits,
  OrganizationRateLimit: rateLimits,
  Organization: visibility,
  OrganizationType: visibility,
  OrganizationMode: section("guide/test-mode", "Create a test key"),
  FirstSteps: section("guide/console", "The dashboard"),
  User: members,
  MemberRole: members,
  Invitation: members,
  Notifications: notifications,
  NotificationChoice: notifications,
  NotificationChoiceInput: notifications,
  NotificationKind: notifications,
  SingleSignOn: singleSignOn,
  SetSingleSignOnInput: singleSignOn,
  SavedView: section("guide/console", "Jobs"),
  ApiKey: section("guide/api-keys", "List keys"),
  RequestLogEntry: requests,
  RequestOutcome: requests,
  JobRun: run,
  JobRunPath: run,
  DeletedTestData: section("guide/test-mode", "Delete test data"),
  WebhookEndpoint: section("guide/webhooks/endpoints", "List and read endpoints"),
  WebhookHeader: newEndpoint,
  WebhookHeaderInput: newEndpoint,
  WebhookEventType: section("guide/webhooks/events", "Who receives which event"),
  WebhookEndpointStatus: failingEndpoint,
  WebhookDisabledReason: failingEndpoint,
  PendingPolicy: section("guide/webhooks/endpoints", "Pause and resume"),
  WebhookDelivery: delivery,
  WebhookAttempt: delivery,
  WebhookEndpointHealth: section("guide/webhooks/endpoints", "Health"),
  SelectedReplayResult: section("guide/webhooks/deliveries", "Replay selected deliveries"),
  WebhookDeliveryStatus: deliveryLog,
  WebhookDeliveryOrigin: deliveryLog,
  ReplaySelection: section("guide/webhooks/deliveries", "Replay a time range"),
  ContractorToday: section("guide/console", "The dashboard"),
  TodayCounts: section("guide/console", "The dashboard"),
  OrganizationOverview: organizations,
  OrganizationStorage: organizations,
  LimitUsage: organizations,
  OrganizationLimit: organizations,
  OrganizationActivity: organizations,
  OrganizationAttention: organizations,
  AttentionReason: organizations,
  JobCounts: organizations,
  RequestCounts: organizations,
  AccountRequest: accountRequests,
  AccountRequestStatus: accountRequests,
  AccountRequestNote: accountRequests,
  AccountRequestNoteKind: accountRequests,
  AuditEntry: members,
  Mail: outbox,
  MailStatus: outbox,
};

/**
 * Returns the section that explains a type: its own, that of all connections, or that of the first root field that returns the
 * type or has an argument of it. Null if none has one.
 */
export function typeSectionOf(type: GraphQLNamedType, schema: GraphQLSchema): GuideSection | null {
  const own = typeSections[type.name];
  if (own) return own;
  if (/(Connection|Edge)$/.test(type.name)) return pages;
  // Too many fields use `String` or `Int` for one of them to explain it.
  if (isScalarType(type)) return null;
  const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()];
  const users = roots
    .flatMap((root) => Object.values(root?.getFields() ?? {}))
    .filter(({ type: result, args }) =>
      [result, ...args.map((argument) => argument.type)].some((used) => getNamedType(used) === type),
    );
  return users.map(({ name }) => rootFieldSections[name]).find((found) => found !== undefined) ?? null;
}
