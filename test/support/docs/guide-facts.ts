/** The numbers of the partner guide, each from the constant that it states. */
import { defaultRateLimits } from "../../../src/rate-limits/rate-limit.ts";
import { FEED_DAYS } from "../../../src/events/feed.sql.ts";
import {
  limits,
  MAX_BODY_BYTES,
  DEFAULT_PAGE_SIZE,
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
  valueOf,
  type Fact,
  factsOf,
} from "./facts.ts";
import { MAX_PAGE_SIZE } from "../../../src/operations/schemas.ts";

const schedule = parseSchedule(DEFAULT_SCHEDULE_TEXT) ?? [];
const { live, test } = retryPolicies(schedule);

/** Equal, so that a client with its default fills the share of a partner with its default, and not more. */
const concurrencyOfClients = [
  count(Math.floor(readEnv({}).DATABASE_POOL_SIZE / 2)),
  count(constantIn("clients/typescript/src/transport.ts", "DEFAULT_MAX_CONCURRENT")),
  count(numberIn("clients/python/waymark_client/_client.py", /^MAX_CONCURRENT_REQUESTS = (\d+)$/m)),
];

const keyRotationHours = valueOf("api-keys/changes#GRACE_HOURS.max");

/** Shared with the operator pages. */
export const periods = {
  feed: duration(FEED_DAYS * DAY_MS),
  retention: duration(readEnv({}).RETENTION_DAYS * DAY_MS),
  idempotency: duration(
    numberIn("src/idempotency/stored-response.sql.ts", /interval '(\d+) hours'/) * 60 * MINUTE_MS,
  ),
  invitation: duration("accounts/email-token.service#links.invitation.lifetimeMs"),
  registration: duration("accounts/email-token.service#links.registration.lifetimeMs"),
  keyRotation: duration(keyRotationHours * 60 * MINUTE_MS),
  secretRotation: duration("webhooks/signing/secrets#OVERLAP_MS"),
  keyRevocation: atMost(SECOND_MS, valueOf("api-keys/verifier#TTL_MS")),
  /** "about three days" */
  retries: duration(Math.round(longestScheduleMs(schedule) / (1 + JITTER) / DAY_MS) * DAY_MS),
  openTransaction: atMost(MINUTE_MS, valueOf("core/postgres/transaction#TRANSACTION_LIMIT_MS")),
};

const defaultPageSize = count(
  numberIn("src/operations/schemas.ts", /default: (\d+), description: "Items per page/),
);

const attempt = {
  total: duration("core/http-client/client#defaultLimits.totalMs"),
  connect: duration("core/http-client/client#defaultLimits.connectMs"),
  headers: bytes("core/http-client/client#defaultLimits.headerBytes"),
};
export const bodies = {
  job: bytes("api/rest/operation-routes#MAX_BODY_BYTES"),
  batch: bytes("jobs/update/operations#MAX_BATCH_BYTES"),
  graphql: bytes(MAX_BODY_BYTES),
};
export const replays = [count(defaultReplayRate.burst), count(defaultReplayRate.perSecond)];

const activeKeys = count("api-keys/service#MAX_ACTIVE_KEYS");
const testJobs = count("test-mode/service#MAX_TEST_JOBS");
const lookUpItems = count("jobs/list/operations#MAX_NUMBERS");
const statsAtOnce = count(numberIn("src/jobs/service.ts", /permitsPerKey: (\d+)/));
const replaysPerRequest = count("webhooks/deliveries/replay.sql#MAX_REPLAYED");
const replaysAtOnce = count(
  numberIn("src/webhooks/deliveries/replay-limit.ts", /InFlightLimit\(\{ max: (\d+)/),
);
const statementTimeout = duration(numberIn("src/app/graphql.ts", /statement_timeout: "(\d+)"/));
const idempotencyKeyLength = count(numberIn("src/idempotency/service.ts", /KEY_PATTERN = .*\{1,(\d+)\}/));
const pageSize = count(MAX_PAGE_SIZE);
const batchItems = count(MAX_BATCH_ITEMS);
const slowRequests = count("api/simulate#MAX_SLOW_REQUESTS");

const guide = factsOf("docs/guide/", {
  "index.md": {
    "Choose your way in": [periods.retries],
  },
  "authentication.md": {
    "Restrict and replace keys": [periods.keyRevocation],
  },
  "api-keys.md": {
    "List keys": [duration("api-keys/service#ENDED_KEYS_LISTED_MS")],
    "Create a key > name": [count("api-keys/input#MAX_NAME_LENGTH")],
    "Create a key > cidrs": [count("api-keys/input#MAX_CIDRS")],
    "Replace a key": [count(keyRotationHours)],
    "Revoke a key": [periods.keyRevocation],
    "What a key may do": [activeKeys],
  },
  "test-mode.md": {
    "Create a test key": [duration(constantIn("src/guide/assets/test-key.mjs", "LIFETIME_MS"))],
    "Create test jobs": [testJobs],
    "Run a job": [
      count("test-mode/test-run.driver#MAX_STEPS_PER_PASS"),
      count("test-mode/test-run.driver#MAX_STEPS_PER_PARTNER"),
    ],
    "See every state of a delivery": [
      count(schedule.length),
      atMost(MINUTE_MS, longestScheduleMs(test.schedule)),
      duration(live.maxRetryAfterMs),
      duration(test.maxRetryAfterMs),
      count("webhooks/dispatcher/retry-or-disable#MAX_CONSECUTIVE_FAILURES"),
      duration(disableRules.live.afterMs),
      duration(disableRules.test.afterMs),
      duration(disableRules.live.spreadMs),
      duration(disableRules.test.spreadMs),
    ],
    "Simulate a failure": [
      slowRequests,
      count("test-mode/simulation#SLOW.min"),
      duration("test-mode/simulation#SLOW.max"),
    ],
  },
  "console.md": {
    "Getting access": [periods.registration, count(MIN_PASSWORD_LENGTH)],
    "Your first key": [periods.keyRotation, periods.keyRevocation],
    "Your first webhook": [periods.retention, duration(disableRules.live.afterMs)],
    "Change many jobs": [batchItems],
    Members: [periods.invitation, count(MAX_NOTICES_PER_HOUR)],
    "Your own account": [duration("core/fresh-authentication#MAX_AUTHENTICATION_AGE_MS")],
  },
  "jobs.md": {
    "List jobs": [defaultPageSize],
    "Read every page": [pageSize],
    "What happens to jobs that change while you read": [periods.openTransaction],
  },
  "lookup.md": {
    "Look up many jobs": [lookUpItems],
  },
  "stats.md": {
    "Count jobs": [count(MAX_GROUPS), statsAtOnce],
  },
  "updating.md": {
    "Update jobs safely": [count(jobFieldNames.length), batchItems],
    "Retry without applying a change twice > Changed something": [periods.idempotency],
    "Retry without applying a change twice": [idempotencyKeyLength],
    "Update up to 100 jobs": [batchItems],
  },
  "clients.md": {
    Clients: concurrencyOfClients,
    TypeScript: [periods.feed],
    Python: [periods.feed],
  },
  "mirror.md": {
    "Recover from downtime > Less than 30 days": [periods.feed],
    "Recover from downtime": [periods.retries, periods.retention],
    "Without the feed: poll by time": [periods.openTransaction],
  },
  "errors.md": {
    "GoneException (410)": [periods.feed],
    CURSOR_EXPIRED: [periods.feed],
    TIMEOUT: [statementTimeout],
    "ConflictException (409)": [count(MAX_ENDPOINTS.live), activeKeys, testJobs],
    "PayloadTooLargeException (413)": [bodies.job, bodies.batch],
    "UnprocessableEntityException (422)": [periods.idempotency],
  },
  "requests.md": {
    "Find a request": [periods.retention],
    "List requests": [bytes(MAX_LOGGED_BODY_BYTES)],
  },
  "limits.md": {
    Headers: [
      count(defaultRateLimits.read.burst),
      duration((defaultRateLimits.read.burst / defaultRateLimits.read.perSecond) * SECOND_MS),
      duration(SECOND_MS),
      count(defaultRateLimits.batch.perSecond * MAX_BATCH_ITEMS),
    ],
    "Limits of single operations > Send a test event": [count("webhooks/deliveries/service#MAX_PINGS")],
    "Limits of single operations > Create a webhook endpoint, or change its URL": [
      count("webhooks/service#MAX_URL_CHECKS"),
    ],
    "Limits of single operations > Wait for a simulated slow answer": [slowRequests],
    "Limits of single operations > Replay many deliveries": [
      count(numberIn("src/webhooks/deliveries/replay-limit.ts", /max: (\d+), noun: "replays"/)),
      ...replays,
    ],
    "Sizes > Page of jobs or history": [pageSize, defaultPageSize],
    "Sizes > Page of events": [pageSize],
    "Sizes > Batch": [batchItems],
    "Sizes > Look-up": [lookUpItems],
    "Sizes > Statistics": [count("jobs/counters/stats.sql#MAX_KEYS"), count(MAX_GROUPS)],
    "Sizes > Statistics at the same time": [statsAtOnce],
    "Sizes > Page of requests or deliveries": [pageSize, defaultPageSize],
    "Limits of single operations > Any": [
      count("api/in-flight#BULK_PER_PARTNER"),
      count("api/in-flight#MAX_WAITING"),
      duration("api/in-flight#MAX_WAIT_MS"),
    ],
    "Sizes > Body of a batch": [bodies.batch],
    "Sizes > Body of a GraphQL request": [bodies.graphql],
    "Sizes > Quotation marks and opening brackets in a body": [count(MAX_QUOTES_AND_BRACKETS)],
    "Sizes > Problems in one response": [count(MAX_PROBLEMS)],
    "Sizes > Test events": [count("events/delete-test-events.sql#MAX_TEST_EVENTS")],
    "Sizes > Any other body": [bodies.job],
    "Sizes > Idempotency-Key": [idempotencyKeyLength, periods.idempotency],
    "Sizes > Responses stored for Idempotency-Keys": [
      count(IDEMPOTENCY_STORAGE_LIMITS.records),
      bytes(IDEMPOTENCY_STORAGE_LIMITS.bytes),
      periods.idempotency,
    ],
    "Sizes > Events feed": [periods.feed],
    "Sizes > Webhook endpoints": [count(MAX_ENDPOINTS.live)],
    "Sizes > Active API keys": [activeKeys],
  },
  "webhooks/quickstart.md": {
    "Receive webhooks": [periods.retries],
    "What your receiver does": [attempt.total],
  },
  "webhooks/endpoints.md": {
    "Create an endpoint": [count(MAX_ENDPOINTS.live), count("webhooks/endpoints/validation#MAX_HEADERS")],
    "Send a test event": [attempt.total],
    "Replace the secret": [periods.secretRotation],
    "Pause and resume": [periods.retention, count("webhooks/deliveries/retention.sql#MAX_ON_HOLD")],
  },
  "webhooks/verify.md": {
    "Rotate the secret": [periods.secretRotation],
  },
  "webhooks/reliability.md": {
    "What your answer means > 2xx within 15 seconds": [attempt.total, attempt.connect],
    "What your answer means": [
      duration(live.maxRetryAfterMs),
      bytes("core/http-client/client#defaultLimits.readBytes"),
      bytes("core/http-client/client#defaultLimits.keepBytes"),
    ],
    Retries: [count(schedule.length), percent(JITTER)],
    "Repeated events": [periods.retention],
    "When an endpoint keeps failing": [
      count("webhooks/dispatcher/retry-or-disable#MAX_CONSECUTIVE_FAILURES"),
      percent("webhooks/dispatcher/retry-or-disable#MAX_FAILURE_RATIO"),
      count("webhooks/dispatcher/retry-or-disable#MIN_ATTEMPTS"),
      duration(
        valueOf("webhooks/dispatcher/retry-or-disable#SLOT_MS") *
          valueOf("webhooks/dispatcher/retry-or-disable#SLOT_COUNT"),
      ),
      duration(probeDelayMs(0)),
      duration(probeDelayMs(4)),
      duration(probeDelayMs(5)),
      duration(disableRules.live.afterMs),
      duration(disableRules.live.spreadMs),
      count("webhooks/dispatcher/retry-or-disable#ALERT_AFTER_ATTEMPTS"),
    ],
    "Limits > Headers of your own per endpoint": [count("webhooks/endpoints/validation#MAX_HEADERS")],
    "Limits > URL of an endpoint": [count("core/http-client/address-guard#MAX_URL_LENGTH")],
    "Limits > Time for one attempt": [attempt.total, attempt.connect],
    "Limits > Deliveries on hold for one endpoint": [count("webhooks/deliveries/retention.sql#MAX_ON_HOLD")],
  },
  "webhooks/deliveries.md": {
    "Delivery log": [periods.retention],
    "Replay one delivery": [count(schedule.length)],
    "Replay a time range": [replaysPerRequest, replaysAtOnce, ...replays],
  },
  "webhooks/troubleshooting.md": {
    "Outcomes > connect_timeout": [attempt.connect],
    "Outcomes > timeout": [attempt.total],
    "Outcomes > invalid_response": [attempt.headers],
    "The signature doesn't match > Since a rotation": [periods.secretRotation],
  },
  "graphql/subscriptions.md": {
    "A client that reconnects": [periods.feed],
    "Limits > Subscriptions on one socket": [count(subscriptionLimits.subscriptionsPerConnection)],
    "Limits > Sockets of a key": [count(subscriptionLimits.connectionsPerPrincipal)],
    "Limits > Sockets of an organisation": [count(subscriptionLimits.connectionsPerOrganization)],
    "Limits > Sockets of an IP address before connection_init": [
      count(subscriptionLimits.unauthenticatedPerAddress),
    ],
    "Limits > Data waiting for a slow client": [bytes(subscriptionLimits.maxUnsentBytes)],
    "Close codes > 1008, 1009": [bytes(subscriptionLimits.maxMessageBytes)],
  },
  "graphql/overview.md": {
    Pages: [count(limits.pageSize), count(DEFAULT_PAGE_SIZE)],
    "Limits > Time": [statementTimeout],
    Limits: [
      bytes(BODY_BYTES_PER_TOKEN),
      bodies.graphql,
      count("api/graphql/execution/cost#TOTAL_COUNT_COST"),
      count("api/graphql/execution/cost#STATS_COST"),
      count(numberIn("src/api/graphql/authenticate.ts", /ANONYMOUS_LIMIT = \{ perSecond: (\d+)/)),
    ],
  },
  "graphql/queries.md": {
    "Jobs that changed since a time": [periods.openTransaction],
  },
  "graphql/mutations.md": {
    "Rotate an API key": [count(keyRotationHours), periods.keyRevocation],
    "Replay what failed": [replaysPerRequest],
    "Errors > CURSOR_EXPIRED": [periods.feed],
    "Errors > TIMEOUT": [statementTimeout],
  },
});

const readme = factsOf("", {
  "README.md": {
    Waymark: [periods.retries],
    Start: [count("dev/demo/demo#JOB_COUNT")],
  },
});

export const guideFacts: readonly Fact[] = [...readme, ...guide];
