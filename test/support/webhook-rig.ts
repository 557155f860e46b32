/** A database with jobs and endpoints, and dispatchers on it whose timer the test itself is. */
import { vi } from "vitest";
import { openDatabase, type Database } from "../../src/platform/database.ts";
import { createAddressGuard } from "../../src/platform/address-guard.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { newUuid } from "../../src/platform/ids.ts";
import { createLogger } from "../../src/platform/logger.ts";
import { createOutgoingHttp, type OutgoingHttp } from "../../src/platform/outgoing-http.ts";
import { sql } from "../../src/platform/sql.ts";
import { entities } from "../../src/entities.ts";
import { createDispatcher, type Dispatcher } from "../../src/webhooks/dispatcher.ts";
import type { TellOfTrouble } from "../../src/webhooks/endpoint.trouble.ts";
import { sealedFor } from "../../src/webhooks/endpoint.secrets.ts";
import { endpointsDueAgain } from "../../src/webhooks/delivery-queue.ts";
import type { Schedule } from "../../src/webhooks/retry-policy.ts";
import { createSender } from "../../src/webhooks/sender.ts";
import { newSecret } from "../../src/webhooks/signature.ts";
import { testBox } from "./secret.ts";
import type { AppOverrides } from "../../src/app.ts";
import type { Tracing } from "../../src/platform/tracing.ts";
import { startTestApp, type Partner, type TestApp } from "./start-app.ts";

export interface DeliveryRow {
  id: string;
  endpoint_id: string;
  event_id: string;
  status: string;
  attempts: number;
  outcome: string | null;
  is_leased: boolean;
  /** Seconds from now; negative: it is due. */
  due_in_s: number;
}

export interface EndpointOptions {
  url: string;
  eventTypes?: string[] | null;
  maxInFlight?: number;
  perSecond?: number;
  secret?: string;
}

export interface RigOptions {
  /** Where the dispatcher finds PostgreSQL, if not where the test does. */
  databaseUrl?: string;
  schedule?: Schedule;
  /** Milliseconds for a whole attempt. */
  totalMs?: number;
  tellOfTrouble?: TellOfTrouble;
  tracing?: Tracing;
}

export interface RunningDispatcher extends Dispatcher {
  /** What it asked to be woken for. */
  readonly wakes: { endpointId: string; atMs: number }[];
  readonly reclaimed: { count: number };
}

export interface WebhookRig extends AsyncDisposable {
  readonly app: TestApp;
  readonly agent: Partner;
  readonly contractor: Partner;
  /** Answers with its id. */
  endpoint(options: EndpointOptions, owner?: Partner): Promise<string>;
  dispatcher(options?: RigOptions): Promise<RunningDispatcher>;
  deliveries(endpointId?: string): Promise<DeliveryRow[]>;
  /** Resolves once every delivery of the endpoint has this status, and there is one at least. */
  all(endpointId: string, status: string): Promise<DeliveryRow[]>;
  /** Makes everything that waits for its time due now. */
  hurry(): Promise<void>;
  /** What the scheduler's sweep does. */
  sweep(dispatcher: Dispatcher): Promise<void>;
}

const MINUTES_MS = [0, 5_000, 300_000, 1_800_000];

export async function startRig(overrides: AppOverrides = {}): Promise<WebhookRig> {
  const app = await startTestApp({ WAYMARK_ROLE: "api" }, overrides);
  const agent = await app.partner("agent");
  const contractor = await app.partner("contractor");
  const opened = new AsyncDisposableStack();
  opened.use(app);

  const rig: WebhookRig = {
    app,
    agent,
    contractor,
    async endpoint(
      { url, eventTypes = null, maxInFlight = 8, perSecond = 1_000, secret = newSecret() },
      owner = agent,
    ) {
      const id = newUuid();
      const secrets = [
        {
          sealed: testBox.seal(secret, sealedFor(id)),
          created_at: new Date().toISOString(),
          expires_at: null,
        },
      ];
      await app.database.query(sql`
        insert into webhook_endpoint (id, organization_id, url, event_types, secrets, max_in_flight, per_second, created_by)
        values (${id}, ${owner.id}, ${url}, ${eventTypes}, ${JSON.stringify(secrets)}, ${maxInFlight}, ${perSecond}, 'test')`);
      return id;
    },
    async dispatcher({ databaseUrl, schedule = MINUTES_MS, totalMs = 5_000, tellOfTrouble, tracing } = {}) {
      const database: Database = databaseUrl
        ? opened.use(await openDatabase({ url: databaseUrl, poolSize: 4, entities }))
        : app.database;
      const http: OutgoingHttp = opened.use(
        createOutgoingHttp({ guard: createAddressGuard({ allowPrivate: true }), limits: { totalMs } }),
      );
      const wakes: RunningDispatcher["wakes"] = [];
      const reclaimed = { count: 0 };
      const dispatcher = createDispatcher({
        database,
        box: testBox,
        schedule,
        tellOfTrouble,
        tracing,
        sender: createSender({ http, clock: systemClock, docsUrl: "https://waymark.example/docs", tracing }),
        clock: systemClock,
        logger: createLogger("silent"),
        wakeAt: (endpointId, atMs) => wakes.push({ endpointId, atMs }),
        metrics: {
          attempted: () => undefined,
          turned: () => undefined,
          reclaimed: (n) => (reclaimed.count += n),
        },
      });
      return Object.assign(opened.use(dispatcher), { wakes, reclaimed });
    },
    deliveries: (endpointId) =>
      app.database.query<DeliveryRow>(sql`
        select id, endpoint_id, event_id, status, attempts, outcome, lease_token is not null as is_leased,
          extract(epoch from due_at - clock_timestamp())::float8 as due_in_s
        from webhook_delivery ${endpointId ? sql`where endpoint_id = ${endpointId}` : sql``} order by id`),
    all: (endpointId, status) =>
      vi.waitFor(
        async () => {
          const rows = await rig.deliveries(endpointId);
          const others = rows.filter((row) => row.status !== status);
          if (rows.length === 0 || others.length > 0)
            throw new Error(
              `Not all of ${rows.length} deliveries are ${status}: ${JSON.stringify(others.slice(0, 3))}`,
            );
          return rows;
        },
        { timeout: 20_000, interval: 20 },
      ),
    async hurry() {
      await app.database.query(sql`
        update webhook_delivery set due_at = clock_timestamp() - interval '1 s' where status = 'pending' and lease_token is null`);
    },
    async sweep(dispatcher) {
      dispatcher.fallDue(await endpointsDueAgain(app.database));
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
  return rig;
}
