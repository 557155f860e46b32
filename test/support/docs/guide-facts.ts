/** The numbers of the partner guide, each from the constant that it states. */
import { defaultRateLimits } from "../../../src/rate-limits/rate-limit.ts";
import { FEED_DAYS } from "../../../src/events/feed.sql.ts";
import {
  limits,
  MAX_BODY_BYTES,
  DEFAULT_PAGE_SIZE,
  MAX_INPUT_CONTAINERS,
  BODY_BYTES_PER_TOKEN,
} from "../../../src/api/graphql/execution/limits.ts";
import { MAX_QUOTES_AND_BRACKETS } from "../../../src/api/json.ts";
import { MAX_PROBLEMS } from "../../../src/core/errors.ts";
import { subscriptionLimits } from "../../../src/api/graphql/subscriptions/limits.ts";
import { IDEMPOTENCY_STORAGE_LIMITS } from "../../../src/idempotency/purge.sql.ts";
import { MAX_GROUPS } from "../../../src/jobs/counters/stats.sql.ts";
import { jobFieldNames } from "../../../src/jobs/fields.ts";
import { MAX_BATCH_ITEMS } from "../../../src/jobs/update/bulk.ts";
import { MAX_NOTICES_PER_HOUR } from "../../../src/mail/access-notices.ts";
import { MAX_LOGGED_BODY_BYTES } from "../../../src/request-log/redaction.ts";
import {
  DEFAULT_SCHEDULE_TEXT,
  JITTER,
  longestScheduleMs,
  parseSchedule,
  scheduleMs,
} from "../../../src/core/retry-schedule.ts";
import { DAY_MS, MINUTE_MS, SECOND_MS } from "../../../src/core/time.ts";
import { readEnv } from "../../../src/config/env.ts";
import { MIN_PASSWORD_LENGTH } from "../../../src/accounts/passwords/rules.ts";
import { defaultReplayRate } from "../../../src/webhooks/deliveries/replay-limit.ts";
import { probeDelayMs } from "../../../src/webhooks/dispatcher/retry-or-disable.ts";
import { MAX_ENDPOINTS } from "../../../src/webhooks/endpoints/service.ts";
import { disableRules, retryPolicies } from "../../../src/webhooks/retry-policy.ts";
import {
  atMost,
  bytes,
  constantIn,
  count,
  duration,
  numberIn,
  percent,
  type Fact,
  type Quantity,
} from "./facts.ts";
import { MAX_PAGE_SIZE } from "../../../src/operations/schemas.ts";

const fact = (page: string, place: string, ...states: Quantity[]): Fact => ({
  page: `docs/guide/${page}`,
  place,
  states,
});

const parsed = parseSchedule(DEFAULT_SCHEDULE_TEXT);
const schedule = "schedule" in parsed ? parsed.schedule : [];
const { live, test } = retryPolicies(schedule);

/** Equal, so that a client with its default fills the share of a partner with its default, and not more. */
const concurrencyOfClients = [
  count(Math.floor(readEnv({}).DATABASE_POOL_SIZE / 2)),
  count(constantIn("clients/typescript/src/transport.ts", "DEFAULT_MAX_CONCURRENT")),
  count(numberIn("clients/python/waymark_client/_client.py", /^MAX_CONCURRENT_REQUESTS = (\d+)$/m)),
];

const KEY_GRANT = "src/api-keys/grant.ts";
const KEY_SERVICE = "src/api-keys/service.ts";
const keyRotationHours = constantIn(KEY_GRANT, "GRACE_HOURS.max");

/** Shared with the operator pages. */
export const periods = {
  feed: duration(FEED_DAYS * DAY_MS),
  retention: duration(readEnv({}).RETENTION_DAYS * DAY_MS),
  idempotency: duration(
    numberIn("src/idempotency/stored-response.sql.ts", /interval '(\d+) hours'/) * 60 * MINUTE_MS,
  ),
  invitation: duration(constantIn("src/accounts/email-token.service.ts", "lifetimesMs.invitation")),
  registration: duration(constantIn("src/accounts/email-token.service.ts", "lifetimesMs.registration")),
  keyRotation: duration(keyRotationHours * 60 * MINUTE_MS),
  secretRotation: duration(constantIn("src/webhooks/signing/secrets.ts", "OVERLAP_MS")),
  keyRevocation: atMost(SECOND_MS, constantIn("src/api-keys/verifier.ts", "TTL_MS")),
  /** "about three days" */
  retries: duration(Math.round(scheduleMs(schedule) / DAY_MS) * DAY_MS),
  openTransaction: atMost(MINUTE_MS, constantIn("src/core/postgres/database.ts", "TRANSACTION_LIMIT_MS")),
};

const defaultPageSize = numberIn("src/operations/schemas.ts", /default: (\d+), description: "Items per page/);

const CLIENT = "src/core/http-client/client.ts";
const SHARES = "src/api/partner-shares.ts";
const DECISIONS = "src/webhooks/dispatcher/retry-or-disable.ts";

const attempt = {
  total: duration(constantIn(CLIENT, "defaultLimits.totalMs")),
  connect: duration(constantIn(CLIENT, "defaultLimits.connectMs")),
  headers: bytes(constantIn(CLIENT, "defaultLimits.headerBytes")),
};
export const bodies = {
  job: bytes(constantIn("src/api/rest/operation-routes.ts", "MAX_BODY_BYTES")),
  batch: bytes(constantIn("src/jobs/update/operations.ts", "MAX_BATCH_BYTES")),
  graphql: bytes(MAX_BODY_BYTES),
};
export const replays = [count(defaultReplayRate.burst), count(defaultReplayRate.perSecond)];

const activeKeys = count(constantIn(KEY_SERVICE, "MAX_ACTIVE_KEYS"));
const testJobs = count(constantIn("src/test-mode/service.ts", "MAX_TEST_JOBS"));
const lookUpItems = count(constantIn("src/jobs/list/operations.ts", "MAX_NUMBERS"));
const statsAtOnce = count(numberIn("src/jobs/service.ts", /permitsPerKey: (\d+)/));
const replaysPerRequest = count(constantIn("src/webhooks/deliveries/replay.sql.ts", "MAX_REPLAYED"));
const replaysAtOnce = count(
  numberIn("src/webhooks/deliveries/replay-limit.ts", /InFlightLimit\(\{ max: (\d+)/),
);

const slowRequests = count(constantIn("src/api/simulate.ts", "MAX_SLOW_REQUESTS"));

const clients = [
  fact("index.md", "Choose your way in", periods.retries),
  fact("authentication.md", "Restrict and replace keys", periods.keyRevocation),
  fact("api-keys.md", "List keys", duration(constantIn(KEY_SERVICE, "ENDED_KEYS_LISTED_MS"))),
  fact("api-keys.md", "Create a key > name", count(constantIn(KEY_GRANT, "MAX_NAME_LENGTH"))),
  fact("api-keys.md", "Create a key > cidrs", count(constantIn(KEY_GRANT, "MAX_CIDRS"))),
  fact("api-keys.md", "Replace a key", count(keyRotationHours)),
  fact(
    "test-mode.md",
    "Create a test key",
    duration(constantIn("src/guide/assets/test-key.mjs", "LIFETIME_MS")),
  ),
  fact("test-mode.md", "Create test jobs", testJobs),
  fact(
    "test-mode.md",
    "Run a job",
    count(constantIn("src/test-mode/test-run.driver.ts", "MAX_STEPS_PER_PASS")),
    count(constantIn("src/test-mode/test-run.driver.ts", "MAX_STEPS_PER_PARTNER")),
  ),
  fact(
    "test-mode.md",
    "See every state of a delivery",
    count(schedule.length),
    atMost(MINUTE_MS, longestScheduleMs(test.schedule)),
    duration(live.maxRetryAfterMs),
    duration(test.maxRetryAfterMs),
    count(constantIn(DECISIONS, "MAX_CONSECUTIVE_FAILURES")),
    duration(disableRules.live.afterMs),
    duration(disableRules.test.afterMs),
    duration(disableRules.live.spreadMs),
    duration(disableRules.test.spreadMs),
  ),
  fact(
    "test-mode.md",
    "Simulate a failure",
    slowRequests,
    count(constantIn("src/test-mode/simulation.ts", "SLOW.min")),
    duration(constantIn("src/test-mode/simulation.ts", "SLOW.max")),
  ),
  fact("api-keys.md", "Revoke a key", periods.keyRevocation),
  fact("api-keys.md", "What a key may do", activeKeys),
  fact("console.md", "Getting access", periods.registration, count(MIN_PASSWORD_LENGTH)),
  fact("console.md", "Your first key", periods.keyRotation, periods.keyRevocation),
  fact("console.md", "Your first webhook", periods.retention, duration(disableRules.live.afterMs)),
  fact("console.md", "Jobs", count(MAX_BATCH_ITEMS)),
  fact("console.md", "Members", periods.invitation, count(MAX_NOTICES_PER_HOUR)),
  fact(
    "console.md",
    "Your own account",
    duration(constantIn("src/core/fresh-authentication.ts", "MAX_AUTHENTICATION_AGE_MS")),
  ),
  fact("jobs.md", "List jobs", count(defaultPageSize)),
  fact("jobs.md", "Read every page", count(MAX_PAGE_SIZE)),
  fact("lookup.md", "Look up many jobs", lookUpItems),
  fact("stats.md", "Count jobs", count(MAX_GROUPS), statsAtOnce),
  fact("updating.md", "Update jobs safely", count(jobFieldNames.length), count(MAX_BATCH_ITEMS)),
  fact("updating.md", "Retry without applying a change twice > Changed something", periods.idempotency),
  fact(
    "updating.md",
    "Retry without applying a change twice",
    count(numberIn("src/api/rest/operation-routes.ts", /KEY_PATTERN = .*\{1,(\d+)\}/)),
  ),
  fact("updating.md", "Update up to 100 jobs", count(MAX_BATCH_ITEMS)),
  fact("clients.md", "Clients", ...concurrencyOfClients),
  fact("clients.md", "TypeScript", periods.feed),
  fact("clients.md", "Python", periods.feed),
  fact("mirror.md", "Recover from downtime > Less than 30 days", periods.feed),
  fact("mirror.md", "Recover from downtime", periods.retries, periods.retention),
  fact("mirror.md", "Without the feed: poll by time", periods.openTransaction),
  fact("jobs.md", "What happens to jobs that change while you read", periods.openTransaction),
  fact("errors.md", "GoneException (410)", periods.feed),
  fact("errors.md", "CURSOR_EXPIRED", periods.feed),
  fact("errors.md", "PayloadTooLargeException (413)", bodies.job, bodies.batch),
  fact("errors.md", "UnprocessableEntityException (422)", periods.idempotency),
  fact("requests.md", "Find a request", periods.retention),
  fact("requests.md", "List requests", bytes(MAX_LOGGED_BODY_BYTES)),
  fact(
    "limits.md",
    "Headers",
    count(defaultRateLimits.read.burst),
    duration((defaultRateLimits.read.burst / defaultRateLimits.read.perSecond) * SECOND_MS),
    duration(SECOND_MS),
    count(defaultRateLimits.batch.perSecond * MAX_BATCH_ITEMS),
  ),
  fact(
    "limits.md",
    "Limits of single operations > Send a test event",
    count(constantIn("src/webhooks/deliveries/service.ts", "MAX_TEST_EVENTS")),
  ),
  fact(
    "limits.md",
    "Limits of single operations > Create a webhook endpoint, or change its URL",
    count(constantIn("src/webhooks/service.ts", "MAX_URL_CHECKS")),
  ),
  fact("limits.md", "Limits of single operations > Wait for a simulated slow answer", slowRequests),
  fact(
    "limits.md",
    "Limits of single operations > Replay many deliveries",
    count(numberIn("src/webhooks/deliveries/replay-limit.ts", /max: (\d+), noun: "replays"/)),
    ...replays,
  ),
  fact("limits.md", "Sizes > Page of jobs or history", count(MAX_PAGE_SIZE), count(defaultPageSize)),
  fact("limits.md", "Sizes > Page of events", count(MAX_PAGE_SIZE)),
  fact("limits.md", "Sizes > Batch", count(MAX_BATCH_ITEMS)),
  fact("limits.md", "Sizes > Look-up", lookUpItems),
  fact(
    "limits.md",
    "Sizes > Statistics",
    count(constantIn("src/jobs/counters/stats.sql.ts", "MAX_KEYS")),
    count(MAX_GROUPS),
  ),
  fact("limits.md", "Sizes > Statistics at the same time", statsAtOnce),
  fact("limits.md", "Sizes > Page of requests or deliveries", count(MAX_PAGE_SIZE), count(defaultPageSize)),
  fact(
    "limits.md",
    "Limits of single operations > Any",
    count(constantIn(SHARES, "BULK_PER_PARTNER")),
    count(constantIn(SHARES, "MAX_WAITING")),
    duration(constantIn(SHARES, "MAX_WAIT_MS")),
  ),
  fact("limits.md", "Sizes > Body of a batch", bodies.batch),
  fact("limits.md", "Sizes > Body of a GraphQL request", bodies.graphql),
  fact("limits.md", "Sizes > Quotation marks and opening brackets in a body", count(MAX_QUOTES_AND_BRACKETS)),
  fact("limits.md", "Sizes > Problems in one response", count(MAX_PROBLEMS)),
  fact(
    "limits.md",
    "Sizes > Test events",
    count(constantIn("src/events/delete-test-events.sql.ts", "MAX_TEST_EVENTS")),
  ),
  fact("limits.md", "Sizes > Any other body", bodies.job),
  fact(
    "limits.md",
    "Sizes > Idempotency-Key",
    count(numberIn("src/api/rest/operation-routes.ts", /KEY_PATTERN = .*\{1,(\d+)\}/)),
    periods.idempotency,
  ),
  fact(
    "limits.md",
    "Sizes > Responses stored for Idempotency-Keys",
    count(IDEMPOTENCY_STORAGE_LIMITS.records),
    bytes(IDEMPOTENCY_STORAGE_LIMITS.bytes),
    periods.idempotency,
  ),
  fact("limits.md", "Sizes > Events feed", periods.feed),
  fact("limits.md", "Sizes > Webhook endpoints", count(MAX_ENDPOINTS.live)),
  fact("limits.md", "Sizes > Active API keys", activeKeys),
];

const webhooks = [
  fact("webhooks/quickstart.md", "Receive webhooks", periods.retries),
  fact("webhooks/quickstart.md", "What your receiver does", attempt.total),
  fact(
    "webhooks/endpoints.md",
    "Create an endpoint",
    count(MAX_ENDPOINTS.live),
    count(constantIn("src/webhooks/endpoints/validation.ts", "MAX_HEADERS")),
  ),
  fact("webhooks/endpoints.md", "Send a test event", attempt.total),
  fact("webhooks/endpoints.md", "Replace the secret", periods.secretRotation),
  fact("errors.md", "ConflictException (409)", count(MAX_ENDPOINTS.live), activeKeys, testJobs),
  fact("webhooks/verify.md", "Rotate the secret", periods.secretRotation),
  fact(
    "webhooks/reliability.md",
    "What your answer means > 2xx within 15 seconds",
    attempt.total,
    attempt.connect,
  ),
  fact(
    "webhooks/reliability.md",
    "What your answer means",
    duration(live.maxRetryAfterMs),
    bytes(constantIn(CLIENT, "defaultLimits.readBytes")),
    bytes(constantIn(CLIENT, "defaultLimits.keepBytes")),
  ),
  fact("webhooks/reliability.md", "Retries", count(schedule.length), percent(JITTER)),
  fact("webhooks/reliability.md", "Repeated events", periods.retention),
  fact(
    "webhooks/reliability.md",
    "When an endpoint keeps failing",
    count(constantIn(DECISIONS, "MAX_CONSECUTIVE_FAILURES")),
    percent(constantIn(DECISIONS, "MAX_FAILURE_RATIO")),
    count(constantIn(DECISIONS, "MIN_ATTEMPTS")),
    duration(constantIn(DECISIONS, "SLOT_MS") * constantIn(DECISIONS, "SLOT_COUNT")),
    duration(probeDelayMs(0)),
    duration(probeDelayMs(4)),
    duration(probeDelayMs(5)),
    duration(disableRules.live.afterMs),
    duration(disableRules.live.spreadMs),
    count(constantIn(DECISIONS, "ALERT_AFTER_ATTEMPTS")),
  ),
  fact(
    "webhooks/endpoints.md",
    "Pause and resume",
    periods.retention,
    count(constantIn("src/webhooks/deliveries/retention.sql.ts", "MAX_ON_HOLD")),
  ),
  fact("webhooks/deliveries.md", "Delivery log", periods.retention),
  fact("webhooks/deliveries.md", "Replay one delivery", count(schedule.length)),
  fact("webhooks/deliveries.md", "Replay a time range", replaysPerRequest, replaysAtOnce, ...replays),
  fact(
    "webhooks/reliability.md",
    "Limits > Headers of your own per endpoint",
    count(constantIn("src/webhooks/endpoints/validation.ts", "MAX_HEADERS")),
  ),
  fact(
    "webhooks/reliability.md",
    "Limits > URL of an endpoint",
    count(constantIn("src/core/http-client/address-guard.ts", "MAX_URL_LENGTH")),
  ),
  fact("webhooks/reliability.md", "Limits > Time for one attempt", attempt.total, attempt.connect),
  fact(
    "webhooks/reliability.md",
    "Limits > Deliveries on hold for one endpoint",
    count(constantIn("src/webhooks/deliveries/retention.sql.ts", "MAX_ON_HOLD")),
  ),
  fact("webhooks/troubleshooting.md", "Outcomes > connect_timeout", attempt.connect),
  fact("webhooks/troubleshooting.md", "Outcomes > timeout", attempt.total),
  fact("webhooks/troubleshooting.md", "Outcomes > invalid_response", attempt.headers),
  fact(
    "webhooks/troubleshooting.md",
    "The signature doesn't match > Since a rotation",
    periods.secretRotation,
  ),
];

const statementTimeout = duration(numberIn("src/app/graphql.ts", /statement_timeout: "(\d+)"/));

const graphql = [
  fact("errors.md", "TIMEOUT", statementTimeout),
  fact("graphql/subscriptions.md", "A client that reconnects", periods.feed),
  fact("graphql/overview.md", "Pages", count(limits.pageSize), count(DEFAULT_PAGE_SIZE)),
  fact("graphql/overview.md", "Limits > Depth", count(limits.depth)),
  fact("graphql/overview.md", "Limits > Aliases", count(limits.aliases)),
  fact("graphql/overview.md", "Limits > Root fields", count(limits.rootFields)),
  fact("graphql/overview.md", "Limits > Page or list", count(limits.pageSize), count(limits.listSize)),
  fact("graphql/overview.md", "Limits > Filter", count(limits.filterParts), count(limits.filterDepth)),
  fact("graphql/overview.md", "Limits > Groups of jobStats", count(limits.groups)),
  fact("graphql/overview.md", "Limits > Body", bodies.graphql),
  fact("graphql/overview.md", "Limits > Tokens of the document", count(limits.tokens)),
  fact("graphql/overview.md", "Limits > Fields with fragments expanded", count(limits.selections)),
  fact("graphql/overview.md", "Limits > Variable", count(MAX_INPUT_CONTAINERS)),
  fact("graphql/overview.md", "Limits > Cost", count(limits.cost)),
  fact("graphql/overview.md", "Limits > Time", statementTimeout),
  fact("graphql/overview.md", "Limits", bytes(BODY_BYTES_PER_TOKEN), bodies.graphql),
  fact(
    "graphql/overview.md",
    "Limits",
    count(constantIn("src/api/graphql/execution/cost.ts", "TOTAL_COUNT_COST")),
    count(constantIn("src/api/graphql/execution/cost.ts", "STATS_COST")),
    count(numberIn("src/api/graphql/authenticate.ts", /ANONYMOUS_LIMIT = \{ perSecond: (\d+)/)),
  ),
  fact("graphql/queries.md", "Jobs that changed since a time", periods.openTransaction),
  fact("graphql/mutations.md", "Rotate an API key", count(keyRotationHours), periods.keyRevocation),
  fact("graphql/mutations.md", "Replay what failed", replaysPerRequest),
  fact("graphql/mutations.md", "Errors > CURSOR_EXPIRED", periods.feed),
  fact("graphql/mutations.md", "Errors > TIMEOUT", statementTimeout),
  fact(
    "graphql/subscriptions.md",
    "Limits > Subscriptions on one socket",
    count(subscriptionLimits.subscriptionsPerConnection),
  ),
  fact(
    "graphql/subscriptions.md",
    "Limits > Sockets of a key",
    count(subscriptionLimits.connectionsPerPrincipal),
  ),
  fact(
    "graphql/subscriptions.md",
    "Limits > Sockets of an organisation",
    count(subscriptionLimits.connectionsPerOrganization),
  ),
  fact(
    "graphql/subscriptions.md",
    "Limits > Sockets of an IP address before connection_init",
    count(subscriptionLimits.unauthenticatedPerAddress),
  ),
  fact(
    "graphql/subscriptions.md",
    "Limits > Data waiting for a slow client",
    bytes(subscriptionLimits.maxUnsentBytes),
  ),
  fact("graphql/subscriptions.md", "Close codes > 1008, 1009", bytes(subscriptionLimits.maxMessageBytes)),
];

const readme = [
  { page: "README.md", place: "Waymark", states: [periods.retries] },
  {
    page: "README.md",
    place: "Start",
    states: [count(constantIn("src/dev/demo/demo.ts", "JOB_COUNT"))],
  },
];

export const guideFacts: readonly Fact[] = [...readme, ...clients, ...webhooks, ...graphql];
