/** The services of webhooks on a database of their own, with organisations and events to deliver, and nobody who delivers. */
import { randomBytes } from "node:crypto";
import { entities } from "../../src/entities.ts";
import { upsertRows } from "../../src/jobs/job.upsert.ts";
import { createOrganizationService } from "../../src/organizations/organization.service.ts";
import { openDatabase, type Database } from "../../src/platform/database.ts";
import { systemActor, type OrganizationType, type Principal } from "../../src/platform/principal.ts";
import { sql, type Sql } from "../../src/platform/sql.ts";
import type { TokenRate } from "../../src/platform/token-bucket.ts";
import type { DeliveryService } from "../../src/webhooks/delivery.service.ts";
import type { EndpointService } from "../../src/webhooks/endpoint.service.ts";
import { openWebhooks } from "../../src/webhooks/webhooks.service.ts";
import { createFakeClock, type FakeClock } from "./fake-clock.ts";
import { testBox } from "./secret.ts";
import { createTestDatabase } from "./test-database.ts";

export interface WebhookServices extends AsyncDisposable {
  readonly database: Database;
  readonly databaseUrl: string;
  readonly clock: FakeClock;
  readonly endpoints: EndpointService;
  readonly deliveries: DeliveryService;
  /** How often workers were told that there is something to deliver. */
  readonly announced: { count: number };
  partner(type: OrganizationType): Promise<Principal>;
  /** Makes a job of the agent's, and with it an event; answers with its Marking Number. */
  job(agent: Principal, contractor?: Principal): Promise<string>;
  /** Makes so many at once. */
  jobs(agent: Principal, count: number): Promise<void>;
  /** The deliveries that match, oldest first. */
  rows(where?: Sql): Promise<StoredDelivery[]>;
}

export interface StoredDelivery {
  id: string;
  event_id: string;
  event_type: string;
  origin: string;
  status: string;
  attempts: number;
}

export async function openWebhookServices({
  retentionDays = 30,
  replayRate,
}: { retentionDays?: number; replayRate?: TokenRate } = {}): Promise<WebhookServices> {
  const opened = new AsyncDisposableStack();
  const { url } = opened.use(await createTestDatabase());
  const database = opened.use(await openDatabase({ url, poolSize: 6, entities }));
  const clock = createFakeClock();
  const announced = { count: 0 };
  const webhooks = opened.use(
    await openWebhooks({
      database,
      clock,
      box: testBox,
      announce: () => void (announced.count += 1),
      allowPrivate: true,
      retentionDays,
      replayRate,
      docsUrl: null,
    }),
  );
  const organizations = createOrganizationService({ database });
  const make = async (
    agent: Principal,
    numbers: readonly string[],
    contractor?: Principal,
  ): Promise<void> => {
    const upserts = numbers.map((markingNumber) => ({
      markingNumber,
      agentId: agent.organizationId,
      contractorId: contractor?.organizationId,
      patch: {},
    }));
    await database.transaction((tx) => upsertRows(tx, upserts, { actor: systemActor, requestId: null }));
  };
  return {
    database,
    databaseUrl: url,
    clock,
    announced,
    endpoints: webhooks.endpoints,
    deliveries: webhooks.deliveries,
    async partner(type) {
      const name = `${type} ${randomBytes(6).toString("hex")}`;
      const { id } = await organizations.create({ name, type });
      return { organizationId: id, organizationType: type, actor: systemActor };
    },
    async job(agent, contractor) {
      const markingNumber = `MN-${randomBytes(8).toString("hex")}`;
      await make(agent, [markingNumber], contractor);
      return markingNumber;
    },
    jobs: (agent, count) =>
      make(
        agent,
        Array.from({ length: count }, () => `MN-${randomBytes(8).toString("hex")}`),
      ),
    rows: (where = sql`true`) =>
      database.query<StoredDelivery>(sql`
        select id, event_id, event_type, origin, status, attempts from webhook_delivery where ${where} order by id`),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
