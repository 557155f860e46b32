/** Which page of the guide explains each screen and each error. Tests check that every target exists in the built guide. */

export interface GuidePage {
  /** Path below `/guide/`, with the anchor of a section if there is one. */
  target: string;
  /** The heading that the target opens. */
  title: string;
}

export interface ScreenGuide {
  /** Explains the screen. */
  about: GuidePage;
  /** Explains how to fill the screen, if that is another page. */
  whenEmpty?: GuidePage;
}

function page(target: string, title: string): GuidePage {
  return { target, title };
}

export const guide = {
  audit: page("operate/console#the-audit-log", "The audit log"),
  console: page("console", "Console"),
  consoleForOperators: page("operate/console", "Console for operators"),
  createTestJobs: page("test-mode#create-test-jobs", "Create test jobs"),
  createEndpoint: page("webhooks/endpoints#create-an-endpoint", "Create an endpoint"),
  dashboard: page("console#the-dashboard", "The dashboard"),
  deliveryLog: page("webhooks/deliveries#delivery-log", "Delivery log"),
  errors: page("errors", "Errors"),
  firstKey: page("console#your-first-key", "Your first key"),
  firstWebhook: page("console#your-first-webhook", "Your first webhook"),
  getKey: page("authentication#get-a-key", "Get a key"),
  gettingAccess: page("console#getting-access", "Getting access"),
  importing: page("operate/console#importing-jobs", "Importing jobs"),
  jobs: page("console#jobs", "Jobs"),
  members: page("console#members", "Members"),
  nothingArrives: page("webhooks/troubleshooting#nothing-arrives", "Nothing arrives"),
  notifications: page("console#notifications", "Notifications"),
  organizations: page("operate/console#organisations", "Organisations"),
  outbox: page("operate/console#the-outbox", "The outbox"),
  outcomes: page("webhooks/troubleshooting#outcomes", "Outcomes"),
  ownAccount: page("console#your-own-account", "Your own account"),
  quickstart: page("quickstart", "Quickstart"),
  rateLimits: page("limits#rate-limits", "Rate limits"),
  requestsAndUsage: page("console#requests-and-usage", "Requests and usage"),
  reviewing: page("operate/console#reviewing-requests", "Reviewing requests"),
  runTestJob: page("test-mode#run-a-job", "Run a job"),
  runbooks: page("operate/runbooks", "Runbooks"),
  simulateFailure: page("test-mode#simulate-a-failure", "Simulate a failure"),
  simulator: page("console#the-simulator", "The simulator"),
  sendKey: page("authentication#send-the-key", "Send the key"),
  statusesAndTasks: page("operate/console#statuses-endpoints-and-tasks", "Statuses, endpoints and tasks"),
  testMode: page("test-mode", "Test without live data"),
  troubleshooting: page("webhooks/troubleshooting", "Troubleshoot webhooks"),
  whoSees: page("authentication#who-sees-which-jobs", "Who sees which jobs"),
} as const satisfies Record<string, GuidePage>;

/** By path of the route. */
export const screenGuides: Readonly<Record<string, ScreenGuide>> = {
  "/sign-in": { about: guide.gettingAccess },
  "/two-factor-required": { about: guide.ownAccount },
  "/request-account": { about: guide.gettingAccess },
  "/account-request": { about: guide.gettingAccess },
  "/register": { about: guide.gettingAccess },
  "/invitation": { about: guide.members },
  "/forgotten-password": { about: guide.gettingAccess },
  "/reset-password": { about: guide.gettingAccess },
  "/": { about: guide.dashboard, whenEmpty: guide.quickstart },
  "/jobs": { about: guide.jobs, whenEmpty: guide.whoSees },
  "/jobs/$markingNumber": { about: guide.jobs, whenEmpty: guide.createEndpoint },
  "/integrations": { about: guide.firstKey },
  "/integrations/keys": { about: guide.firstKey, whenEmpty: guide.getKey },
  "/integrations/endpoints": { about: guide.firstWebhook, whenEmpty: guide.createEndpoint },
  "/integrations/endpoints/$id": { about: guide.troubleshooting, whenEmpty: guide.nothingArrives },
  "/integrations/deliveries": { about: guide.deliveryLog, whenEmpty: guide.nothingArrives },
  "/integrations/deliveries/$id": { about: guide.troubleshooting },
  "/integrations/requests": { about: guide.requestsAndUsage, whenEmpty: guide.sendKey },
  "/integrations/usage": { about: guide.requestsAndUsage, whenEmpty: guide.sendKey },
  "/simulator": { about: guide.simulator, whenEmpty: guide.createTestJobs },
  "/members": { about: guide.members },
  "/audit": { about: guide.members },
  "/security": { about: guide.ownAccount },
  "/notifications": { about: guide.notifications },
  "/$": { about: guide.console },
  "/operator": { about: guide.consoleForOperators },
  "/operator/requests": { about: guide.reviewing },
  "/operator/requests/$id": { about: guide.reviewing },
  "/operator/organizations": { about: guide.organizations, whenEmpty: guide.reviewing },
  "/operator/organizations/$id": { about: guide.organizations },
  "/import": { about: guide.importing },
  "/operator/import": { about: guide.importing },
  "/operator/statuses": { about: guide.statusesAndTasks },
  "/operator/endpoints": { about: guide.statusesAndTasks },
  "/operator/mail": { about: guide.outbox },
  "/operator/audit": { about: guide.audit },
  "/operator/tasks": { about: guide.statusesAndTasks },
};

/** For errors outside the router. */
export const DEFAULT_SCREEN_GUIDE: ScreenGuide = { about: guide.console };

/** Error codes of REST with their HTTP status. Each has a section in the guide. */
const ERROR_STATUSES: Readonly<Record<string, number>> = {
  BadRequestException: 400,
  UnauthorizedException: 401,
  ForbiddenException: 403,
  NotFoundException: 404,
  MethodNotAllowedException: 405,
  ConflictException: 409,
  GoneException: 410,
  PreconditionFailedException: 412,
  PayloadTooLargeException: 413,
  UnsupportedMediaTypeException: 415,
  UnprocessableEntityException: 422,
  TooManyRequestsException: 429,
  InternalServerErrorException: 500,
  ServiceUnavailableException: 503,
};

/** Returns the section about an error code of REST, or the page of all codes if the code is unknown. */
export function errorCodeGuide(code: string): GuidePage {
  if (!Object.hasOwn(ERROR_STATUSES, code)) return guide.errors;
  const status = ERROR_STATUSES[code];
  return page(`errors#${code.toLowerCase()}-${status}`, `${code} (${status})`);
}

/** Errors whose section also fits the console. The sections about other codes explain keys and headers of the API. */
const CONSOLE_ERROR_GUIDES: ReadonlyMap<number, GuidePage> = new Map([
  [400, errorCodeGuide("BadRequestException")],
  [403, guide.members],
  [413, errorCodeGuide("PayloadTooLargeException")],
  [429, errorCodeGuide("TooManyRequestsException")],
  [500, errorCodeGuide("InternalServerErrorException")],
  [503, errorCodeGuide("ServiceUnavailableException")],
]);

const GRAPHQL_ERROR_STATUSES: Readonly<Record<string, number>> = {
  BAD_USER_INPUT: 400,
  FORBIDDEN: 403,
  RATE_LIMITED: 429,
  INTERNAL_SERVER_ERROR: 500,
  SERVICE_UNAVAILABLE: 503,
  TIMEOUT: 503,
};

/** `error`: an HTTP status, or the `extensions.code` of a GraphQL error. Returns null if the screen's own page fits best. */
export function consoleErrorGuide(error: number | string): GuidePage | null {
  const status = typeof error === "number" ? error : GRAPHQL_ERROR_STATUSES[error];
  return CONSOLE_ERROR_GUIDES.get(status ?? 0) ?? null;
}
