/** A database with jobs and endpoints, and dispatchers that the test wakes instead of timers. */
import { Registry } from "prom-client";
import { openDatabase, type Database } from "../../../src/core/postgres/database.ts";
import { AddressGuard } from "../../../src/core/http-client/address-guard.ts";
import { systemClock, type Clock } from "../../../src/core/clock.ts";
import { newUuid } from "../../../src/core/ids.ts";
import { createLogger } from "../../../src/core/logger.ts";
import { HttpClient } from "../../../src/core/http-client/client.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { entities } from "../../../src/app/entities.ts";
import type { ClaimRequest } from "../../../src/webhooks/dispatcher/claim-due-and-record-attempts.sql.ts";
import { Dispatcher } from "../../../src/webhooks/dispatcher/dispatcher.ts";
import { createDeliveryMetrics } from "../../../src/webhooks/dispatcher/metrics.ts";
import type { AlertNotifier } from "../../../src/webhooks/endpoints/alerts.ts";
import { retryPolicies } from "../../../src/webhooks/retry-policy.ts";
import { newSecret, sealContext } from "../../../src/webhooks/signing/secrets.ts";
import { endpointsWithDueRetries } from "../../../src/webhooks/deliveries/queue-stats.sql.ts";
import type { RetrySchedule } from "../../../src/core/retry-schedule.ts";
import { Sender } from "../../../src/webhooks/dispatcher/sign-and-send.ts";
import { testSecretBox } from "../test-secret.ts";
import type { AppOverrides } from "../../../src/app/app.ts";
import { startTestApp } from "../app/app.fixture.ts";
import { eventually } from "../eventually.ts";
import { useFixture } from "../use-fixture.ts";

export interface DeliveryRow {
  id: string;
  endpoint_id: string;
  event_id: string;
  status: string;
  attempts: number;
  outcome: string | null;
  is_leased: boolean;
  /** Seconds from now. Negative if due. */
  due_in_s: number;
}

export interface TestEndpointOptions {
  url: string;
  eventTypes?: string[] | null;
  maxInFlight?: number;
  perSecond?: number;
  secret?: string;
}

export interface DispatcherFixtureOptions {
  /** The dispatcher's database URL. Default: the test's database. */
  databaseUrl?: string;
  /** Of live endpoints. */
  schedule?: RetrySchedule;
  /** Timeout of an attempt. */
  totalMs?: number;
  alertNotifier?: AlertNotifier;
  /** The clock of the limits. Default: the system's. */
  clock?: Clock;
}

export type RunningDispatcher = Awaited<ReturnType<DispatcherFixture["startDispatcher"]>>;

export type DispatcherFixture = Awaited<ReturnType<typeof startDispatcherFixture>>;

const RETRY_SCHEDULE_MS = [0, 5_000, 300_000, 1_800_000];

/** A claim of everything that is due, which records nothing. */
export const claimRequest = (changes: Partial<ClaimRequest> = {}): ClaimRequest => ({
  finished: [],
  freeSlots: 480,
  maxFirstAttempts: 480,
  retryEndpoints: [],
  cursor: null,
  sendBudgets: new Map(),
  partnerBudgets: new Map(),
  maxPerPartner: 480,
  workerCount: 1,
  ...changes,
});

/** Opens the database for the tests of a file. */
export const useDispatcherFixture = (): DispatcherFixture => useFixture(() => startDispatcherFixture());

export async function startDispatcherFixture(overrides: AppOverrides = {}) {
  const app = await startTestApp({ WAYMARK_ROLE: "api" }, overrides);
  const agent = await app.createOrganization("agent");
  const contractor = await app.createOrganization("contractor");
  const stack = new AsyncDisposableStack();
  stack.use(app);

  const deliveries = (endpointId?: string): Promise<DeliveryRow[]> =>
    app.database.query<DeliveryRow>(sql`
      select id, endpoint_id, event_id, status, attempts, outcome, lease_token is not null as is_leased,
        extract(epoch from due_at - clock_timestamp())::float8 as due_in_s
      from webhook_delivery ${endpointId ? sql`where endpoint_id = ${endpointId}` : sql``} order by id`);
  return {
    app,
    agent,
    contractor,
    async createEndpoint(
      {
        url,
        eventTypes = null,
        maxInFlight = 8,
        perSecond = 1_000,
        secret = newSecret(),
      }: TestEndpointOptions,
      owner = agent,
    ): Promise<string> {
      const id = newUuid();
      const secrets = [
        {
          sealed: testSecretBox.seal(secret, sealContext(id)),
          created_at: new Date().toISOString(),
          expires_at: null,
        },
      ];
      await app.database.query(sql`
        insert into webhook_endpoint (id, organization_id, url, event_types, secrets, max_in_flight, per_second, created_by)
        values (${id}, ${owner.id}, ${url}, ${eventTypes}, ${JSON.stringify(secrets)}, ${maxInFlight}, ${perSecond}, 'test')`);
      return id;
    },
    deleteEndpoint: (id: string) =>
      app.database.query(sql`update webhook_endpoint set deleted_at = now() where id = ${id}`),
    createJobs: (count: number, owner = agent): Promise<string[]> => app.createJobs(owner, count),
    /** The agent's organisation in test mode, with a test key. */
    async createTestOrganization() {
      const settings = { organizationId: agent.id, name: "t", createdBy: "test" };
      const { key, text } = await app.keys.create({ ...settings, testSide: "agent" });
      return { ...agent, id: key.organization?.id ?? "", key: text };
    },
    async startDispatcher({
      databaseUrl,
      schedule = RETRY_SCHEDULE_MS,
      totalMs = 5_000,
      alertNotifier,
      clock = systemClock,
    }: DispatcherFixtureOptions = {}) {
      const database: Database = databaseUrl
        ? stack.use(await openDatabase({ url: databaseUrl, poolSize: 4, entities }))
        : app.database;
      const http: HttpClient = stack.use(
        new HttpClient({ guard: new AddressGuard({ allowPrivate: true }), limits: { totalMs } }),
      );
      /** The wake-ups that the dispatcher has scheduled. */
      const wakeUps: { endpointId: string; atMs: number }[] = [];
      const metrics = createDeliveryMetrics(new Registry(), () => 0);
      const dispatcher = new Dispatcher({
        database,
        secretBox: testSecretBox,
        retryPolicies: retryPolicies(schedule),
        alertNotifier,
        sender: new Sender({
          http,
          clock: systemClock,
          docsUrl: "https://waymark.example/guide/webhooks/quickstart",
        }),
        clock,
        logger: createLogger("silent"),
        scheduleWakeUp: (endpointId, atMs) => wakeUps.push({ endpointId, atMs }),
        metrics,
      });
      const reclaimed = async (): Promise<number> => (await metrics.reclaimed.get()).values[0]?.value ?? 0;
      /** The attempts and the responses that the metrics count. */
      const counted = async (): Promise<[number, number]> => {
        const attempts = (await metrics.attempts.get()).values.filter(({ metricName }) =>
          metricName?.endsWith("_count"),
        );
        const responses = (await metrics.responses.get()).values;
        return [attempts, responses].map((each) => each.reduce((sum, { value }) => sum + value, 0)) as [
          number,
          number,
        ];
      };
      return Object.assign(stack.use(dispatcher), { wakeUps, reclaimed, counted });
    },
    deliveries,
    /** Resolves when the endpoint has deliveries and all of them have this status. */
    waitForStatus: (endpointId: string, status: string) =>
      eventually(async () => {
        const rows = await deliveries(endpointId);
        const others = rows.filter((row) => row.status !== status);
        if (rows.length === 0 || others.length > 0)
          throw new Error(
            `Not all of ${rows.length} deliveries are ${status}: ${JSON.stringify(others.slice(0, 3))}`,
          );
        return rows;
      }),
    /**
     * Makes all pending deliveries due now, once no attempt is under way: PostgreSQL rejects the update of a row that moves to the
     * finished deliveries meanwhile.
     */
    async makeDue() {
      const endpoints = sql`select id from webhook_endpoint where deleted_at is null`;
      await eventually(async () => {
        const leased = await app.database.query(sql`
          select endpoint_id, attempts from webhook_delivery where lease_token is not null and endpoint_id in (${endpoints})`);
        if (leased.length > 0) throw new Error(`Attempts are under way: ${JSON.stringify(leased)}`);
      });
      await app.database.query(sql`
        update webhook_delivery set due_at = clock_timestamp() - interval '1 s'
        where status = 'pending' and endpoint_id in (${endpoints})`);
    },
    /** Enqueues due retries, like the scheduler's sweep. */
    async sweep(dispatcher: Dispatcher) {
      dispatcher.enqueueDue((await endpointsWithDueRetries(app.database)) ?? []);
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
