/** The filters of the delivery log by status and by the response to the last attempt. */
import { beforeAll, expect, it } from "vitest";
import { newUuid, uuidV7Sql } from "../../../src/core/ids.ts";
import type { OrganizationPrincipal } from "../../../src/core/principal.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { listDeliveries, type DeliveryFilter } from "../../../src/webhooks/deliveries/log-pages.sql.ts";
import { nodesOfGenericPlans } from "../../support/database/generic-plans.ts";
import { DAY_MS, HOUR_MS } from "../../support/fake-clock.ts";
import { createAgentWithEndpoint } from "../../support/webhooks/delivery.fixture.ts";
import { listening, useWebhookServices } from "../../support/webhooks/service.fixture.ts";

const services = useWebhookServices();
let list: (filter: DeliveryFilter) => Promise<string[]>;
/** The uuid of an endpoint with 20,100 failed deliveries: 404, and the oldest one 503. */
let crowded: { uuid: string; owner: OrganizationPrincipal };

/** Status, attempts and outcome of each delivery. */
const log = [
  ["pending", 0, null],
  ["pending", 1, "http_500"],
  ["pending", 1, null],
  ["delivered", 1, "delivered"],
  ["failed", 10, "http_301"],
  ["failed", 10, "http_404"],
  ["failed", 10, "timeout"],
  ["discarded", 1, "http_503"],
] as const;

const insert = (of: string, status: string, { attempts = 1, outcome = null as string | null, count = 1 }) =>
  services.database.query(sql`
    insert into webhook_delivery (id, endpoint_id, event_id, event_type, status, attempts, outcome)
    select ${uuidV7Sql}, ${of}, ${newUuid()}, 'job.updated', ${status}, ${attempts}, ${outcome} from generate_series(1, ${count}::int)`);

beforeAll(async () => {
  const own = await createAgentWithEndpoint(services);
  for (const [status, attempts, outcome] of log) await insert(own.uuid, status, { attempts, outcome });
  list = async (filter) =>
    (await own.list(filter)).map(({ status, outcome }) => `${status} ${outcome}`).toSorted();
  const busy = await createAgentWithEndpoint(services);
  crowded = { uuid: busy.uuid, owner: busy.agent };
  await insert(busy.uuid, "failed", { outcome: "http_503" });
  await services.database.query(sql`
    update webhook_delivery set id = ${newUuid(Date.now() - HOUR_MS)} where endpoint_id = ${busy.uuid} and status = 'failed'`);
  await insert(busy.uuid, "failed", { outcome: "http_404", count: 20_100 });
  // Older than the horizon of the failed ones, and in another lane.
  await services.database.query(sql`
    insert into webhook_delivery (id, endpoint_id, event_id, event_type, status, attempts, outcome)
    values (${newUuid(Date.now() - 2 * HOUR_MS)}, ${busy.uuid}, ${newUuid()}, 'job.updated', 'pending', 1, 'http_503')`);
  await insert(newUuid(), "pending", { outcome: "http_500", count: 20_000 });
  await services.database.query(sql`analyze webhook_delivery`);
});

it.each<[DeliveryFilter, string[]]>([
  [{ status: "retrying" }, ["pending http_500", "pending null"]],
  [{ status: "pending" }, ["pending http_500", "pending null", "pending null"]],
  [{ httpClass: "http_2xx" }, ["delivered delivered"]],
  [{ httpClass: "http_3xx" }, ["failed http_301"]],
  [{ httpClass: "http_4xx" }, ["failed http_404"]],
  [{ httpClass: "http_5xx" }, ["pending http_500"]],
  [{ httpClass: "no_response" }, ["failed timeout"]],
  [{ httpClass: "http_5xx", status: "discarded" }, ["discarded http_503"]],
  [{ httpClass: "http_5xx", status: "delivered" }, []],
  [{ httpClass: "http_5xx", status: "retrying" }, ["pending http_500"]],
  [{ outcome: "timeout" }, ["failed timeout"]],
  [{ outcome: "delivered" }, ["delivered delivered"]],
  [{ outcome: "http_404", httpClass: "http_5xx" }, []],
  [{ httpClass: "http_4xx", since: new Date(Date.now() - DAY_MS) }, ["failed http_404"]],
  [{ httpClass: "http_4xx", until: new Date(Date.now() - DAY_MS) }, []],
])("lists %j", async (filter, expected) => {
  expect(await list(filter)).toEqual(expected);
});

it("searches 20,000 deliveries for a page, and the next ones with its cursor", async () => {
  const filter = { httpClass: "http_5xx" } as const;
  const first = await services.deliveries.list(crowded.owner, { filter, limit: 10 });
  expect(first.items).toEqual([]);
  expect(first.nextCursor).not.toBeNull();
  const cursor = first.nextCursor ?? undefined;
  const second = await services.deliveries.list(crowded.owner, { filter, limit: 10, cursor });
  expect(second.items).toMatchObject([{ status: "failed" }, { status: "pending" }]);
  expect(second.nextCursor).toBeNull();
});

it("returns each delivery once with page cursors", async () => {
  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const filter = { httpClass: "http_4xx" } as const;
    const page = await services.deliveries.list(crowded.owner, { filter, limit: 200, cursor });
    seen.push(...page.items.map(({ id }) => id));
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  expect(seen).toHaveLength(20_100);
  expect(new Set(seen).size).toBe(20_100);
});

it.for<DeliveryFilter>([{ httpClass: "http_5xx" }, { status: "retrying" }, { outcome: "timeout" }])(
  "reads failed and retried deliveries by their indexes for %j",
  async (filter, context) => {
    const texts: string[] = [];
    const page = { filter, limit: 30, since: new Date(services.clock.now() - 30 * DAY_MS) };
    await listDeliveries(listening(services, texts), crowded.owner, page);
    const nodes = await nodesOfGenericPlans(context, services.databaseUrl, { texts });
    const reads = nodes.filter((node) => node["Relation Name"]?.startsWith("webhook_delivery"));
    expect(reads.length).toBeGreaterThan(0);
    expect(reads.map((node) => node["Node Type"])).not.toContain("Seq Scan");
  },
);
