/** The numbers of the operator guide, each from the constant that it states. */
import { maxHeaderSize } from "node:http";
import { toConfig } from "../../../src/config/config.ts";
import { readEnv } from "../../../src/config/env.ts";
import { FEED_DAYS } from "../../../src/events/feed.sql.ts";
import { unknownKeyRate } from "../../../src/api-keys/verifier.ts";
import { type ThrottleKind, throttleLimits } from "../../../src/accounts/auth/throttle.ts";
import { SESSION_LIFETIME_MS } from "../../../src/accounts/sessions/entity.ts";
import { MIN_PASSWORD_LENGTH } from "../../../src/accounts/passwords/rules.ts";
import { MAX_IN_FLIGHT } from "../../../src/webhooks/dispatcher/endpoint-states.ts";
import { subscriptionLimits } from "../../../src/api/graphql/subscriptions/limits.ts";
import { MAX_IMPORT_BYTES } from "../../../src/api/console/import.routes.ts";
import { IDEMPOTENCY_STORAGE_LIMITS } from "../../../src/idempotency/purge.sql.ts";
import { RETRY_SCHEDULE as MAIL_SCHEDULE } from "../../../src/mail/queue.ts";
import { MAX_XLSX_BYTES } from "../../../src/core/records/xlsx.ts";
import { STATEMENT_TIMEOUT_MS } from "../../../src/core/postgres/orm-options.ts";
import { JITTER, longestScheduleMs } from "../../../src/core/retry-schedule.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "../../../src/core/time.ts";
import { PENDING_COUNT_LIMIT } from "../../../src/webhooks/endpoints/view.ts";
import {
  bytes,
  count,
  duration,
  numberIn,
  percent,
  valueOf,
  type Fact,
  factsOf,
  type Quantity,
} from "./facts.ts";
import { bodies, periods, replays } from "./guide-facts.ts";

const drainDelayMs = toConfig(readEnv({ NODE_ENV: "production" })).http.shutdownDrainDelayMs;
const stopMs = valueOf("api/server/server#STOP_TIMEOUT_MS");
const stuck = duration(valueOf("webhooks/dispatcher/dispatcher#STUCK_AFTER_S") * SECOND_MS);
const graceSeconds = numberIn("docker-compose.yml", /stop_grace_period: (\d+)s/);
/** Of better-auth. */
const recoveryCodes = count(10);
const idempotencyStorage = [
  count(IDEMPOTENCY_STORAGE_LIMITS.records),
  bytes(IDEMPOTENCY_STORAGE_LIMITS.bytes),
];
const env = readEnv({});
const neededDays = Math.ceil(longestScheduleMs(env.WEBHOOK_RETRY_SCHEDULE) / DAY_MS);
const lockMs = valueOf("core/postgres/migrate#LOCK_TIMEOUT_MS");
const migrationMs =
  valueOf("core/postgres/migrate#MAX_ATTEMPTS") * (lockMs + valueOf("core/postgres/migrate#RETRY_DELAY_MS"));
const poolSize = env.DATABASE_POOL_SIZE;
const workerPoolSize = valueOf("app/worker#POOL_SIZE");
const timeout = (name: string): Quantity => duration(`api/server/server#TIMEOUTS_MS.${name}`);

const pages = factsOf("docs/operate/", {
  "install.md": {
    "4. Create the first operator": [periods.invitation, count(MIN_PASSWORD_LENGTH), recoveryCodes],
    "3. TLS and a proxy": [duration(env.KEEP_ALIVE_TIMEOUT)],
    "4. Unit": [duration(drainDelayMs + stopMs)],
    Kubernetes: [duration(drainDelayMs)],
    "Kubernetes > terminationGracePeriodSeconds": [count(graceSeconds)],
  },
  "settings.md": {
    "Data and secrets > RETENTION_DAYS": [
      percent(JITTER),
      count(neededDays),
      duration(numberIn("src/config/env.ts", /RETENTION_DAYS: .*\.max\((\d+)\)/) * DAY_MS),
    ],
    "Data and secrets": [duration(FEED_DAYS * DAY_MS), duration(SESSION_LIFETIME_MS)],
    "Webhooks > WEBHOOK_RETRY_SCHEDULE": [
      count("core/retry-schedule#MAX_ATTEMPTS"),
      duration("core/retry-schedule#MAX_DELAY_MS"),
      percent(JITTER),
    ],
    "What production changes": [duration(drainDelayMs)],
    "Server > SHUTDOWN_DRAIN_DELAY": [duration(drainDelayMs)],
  },
  "console.md": {
    "Importing jobs": [bytes(MAX_IMPORT_BYTES), bytes(MAX_XLSX_BYTES)],
    "The outbox": [duration("mail/queue#RETENTION_MS")],
  },
  "monitoring.md": {
    "Health > All": [duration("api/ops/dependencies#CHECK_TIMEOUT_MS")],
    Health: [stuck],
    "Metrics > waymark_idempotency_records_trimmed_total": [
      periods.idempotency,
      ...idempotencyStorage,
      duration(
        numberIn("src/app/background-tasks.ts", /"trim idempotency",\s+(\d+) \* MINUTE_MS/) * MINUTE_MS,
      ),
    ],
    "Metrics > waymark_webhook_deliveries_in_flight": [count(MAX_IN_FLIGHT)],
    "Metrics > waymark_webhook_deliveries_on_hold": [count(PENDING_COUNT_LIMIT)],
    "Metrics > waymark_websocket_connections": [count(subscriptionLimits.connections)],
    Traces: [count("core/tracing/sdk#MAX_QUEUED_SPANS")],
  },
  "upgrade.md": {
    "Upgrade without Compose": [duration(lockMs), duration(migrationMs)],
    "Stop > 1": [duration(drainDelayMs)],
    "Stop > 2": [
      duration("webhooks/dispatcher/dispatcher#STOP_TIMEOUT_MS"),
      duration("mail/worker#STOP_TIMEOUT_MS"),
    ],
    "Stop > 3": [duration(stopMs)],
    Stop: [
      duration(graceSeconds * SECOND_MS),
      duration(stopMs),
      duration("webhooks/dispatcher/claim-due-and-record-attempts.sql#LEASE_MS"),
    ],
  },
  "backup.md": {
    "Removals that the restore undid": [
      periods.registration,
      periods.invitation,
      duration("accounts/email-token.service#links.password_reset.lifetimeMs"),
      duration("accounts/email-token.service#links.account_request_answer.lifetimeMs"),
    ],
  },
  "runbooks.md": {
    "A key leaks": [periods.keyRotation, periods.secretRotation, periods.keyRevocation, count(12)],
    "Deliveries are stuck": [count(MAX_IN_FLIGHT)],
    "Replay after an outage": [periods.retries, ...replays],
    "The feed is stalled": [
      duration(numberIn("src/core/postgres/orm-options.ts", /idle_in_transaction_session_timeout=(\d+)/)),
    ],
    "A process is down": [duration("webhooks/dispatcher/claim-due-and-record-attempts.sql#LEASE_MS")],
    "A disk is full": [duration(neededDays * DAY_MS)],
    "E-mail is not sent > pending with a temporary error": [
      duration(Math.round(MAIL_SCHEDULE.reduce((sum, delayMs) => sum + delayMs, 0) / HOUR_MS) * HOUR_MS),
    ],
    "E-mail is not sent": [
      periods.registration,
      periods.invitation,
      duration("accounts/email-token.service#links.password_reset.lifetimeMs"),
    ],
  },
  "security.md": {
    "Secrets > Sessions": [duration(SESSION_LIFETIME_MS)],
    "Two-factor authentication": [recoveryCodes],
    "Network > Headers of a request": [timeout("headers"), bytes(maxHeaderSize)],
    "Network > Body of a request": [timeout("request"), timeout("upload")],
    "Network > Body size": [
      bodies.job,
      bodies.batch,
      bodies.graphql,
      bytes("api/console/guards#MAX_BODY_BYTES"),
      bytes(MAX_IMPORT_BYTES),
    ],
    "Network > Reading a response": [timeout("response")],
    "Network > Silence on a connection during a request": [timeout("idleSocket")],
    "Network > WebSockets": [
      count(subscriptionLimits.connections),
      count(subscriptionLimits.connectionsPerOrganization),
      count(subscriptionLimits.connectionsPerPrincipal),
    ],
    "Limits against abuse > Unknown API keys from one network, per process": [
      count(unknownKeyRate.burst),
      count(unknownKeyRate.perSecond),
    ],
  },
  "scaling.md": {
    "When to add what": [count(MAX_IN_FLIGHT)],
    Processes: [duration(drainDelayMs), duration(subscriptionLimits.pingIntervalMs)],
    Connections: [count(poolSize)],
    // REST and GraphQL have a pool each and share one connection that listens. A worker has two that listen.
    "Connections > API": [count(2 * poolSize + 1)],
    "Connections > Worker": [count(poolSize + workerPoolSize + 2)],
    "Connections > all": [count(2 * poolSize + workerPoolSize + 3)],
    "Connections > A command, and each process while it starts": [count("app/cli-services#POOL_SIZE")],
    "Read replicas": [duration("core/replicas#MAX_LAG_MS")],
    "Read replicas > more than 2 s behind": [duration("core/replicas#MAX_LAG_MS")],
    "Overload > Normally": [
      count("api/in-flight#BURST_PER_CONNECTION"),
      count(valueOf("api/in-flight#BURST_PER_CONNECTION") * poolSize),
    ],
    "Overload > During an overload": [
      count("api/in-flight#SUSTAINED_PER_CONNECTION"),
      count(valueOf("api/in-flight#SUSTAINED_PER_CONNECTION") * poolSize),
    ],
    Overload: [
      duration("api/in-flight#BURST_MS"),
      duration("api/in-flight#RECOVERED_AFTER_MS"),
      duration(STATEMENT_TIMEOUT_MS),
      duration("core/postgres/orm-options#CONNECT_TIMEOUT_MS"),
      count("core/postgres/database#MAX_WAITING_PER_CONNECTION"),
    ],
  },
});

/** The row of a throttle: its burst, and the time for one more attempt. */
function throttle(row: string, kind: ThrottleKind): Fact {
  const { burst, perSecond } = throttleLimits[kind];
  const everyMs = Math.round(SECOND_MS / perSecond);
  return {
    page: "docs/operate/security.md",
    place: `Limits against abuse > ${row}`,
    states: [count(burst), duration(everyMs)],
  };
}

export const operateFacts: readonly Fact[] = [
  ...pages,
  throttle("Wrong passwords for one account from one network", "sign-in-network"),
  throttle("Wrong passwords for all accounts from one network", "sign-in-address"),
  throttle("All attempts at one account by unknown browsers", "sign-in-total-account"),
  throttle("Two-factor codes from one network", "two-factor-address"),
  ...(["reset-account", "request-account", "invitation-account"] as const).map((kind) =>
    throttle("Password e-mails, account requests or invitations to one e-mail address", kind),
  ),
  throttle("Account forms from one network", "form-address"),
  throttle("Account forms from one IPv6 /48", "form-site"),
  throttle("Account requests that are answered by e-mail", "request-total"),
];
