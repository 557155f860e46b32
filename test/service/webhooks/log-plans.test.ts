/** Query plans for a long delivery log: each query uses the index of its status and its own endpoint's queue. */
import { beforeAll, expect, it, type TestContext } from "vitest";
import { fromTypedId, newUuid, uuidV7Sql, toTypedId } from "../../../src/core/ids.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { systemPrincipal } from "../../../src/webhooks/webhook-principal.ts";
import { deleteTestDeliveries } from "../../../src/webhooks/deliveries/delete-test-deliveries.sql.ts";
import { findAttemptsById } from "../../../src/webhooks/deliveries/log-lookups.sql.ts";
import { listDeliveries } from "../../../src/webhooks/deliveries/log-pages.sql.ts";
import { replayFailed, replayMissing } from "../../../src/webhooks/deliveries/replay.sql.ts";
import { nodesOfGenericPlans, type PlanNode } from "../../support/database/generic-plans.ts";
import { DAY_MS, HOUR_MS } from "../../support/fake-clock.ts";
import { listening, useWebhookServices } from "../../support/webhooks/service.fixture.ts";

const services = useWebhookServices();
let endpointId: string;
let organizationId: string;
/** The partition of this week's log and its index of failed deliveries. */
let week: { table: string; failed: string };

beforeAll(async () => {
  const owner = await services.createOrganization("agent");
  organizationId = owner.organizationId;
  const { endpoint } = await services.endpoints.create(owner, { url: "http://127.0.0.1:9/webhooks" });
  endpointId = fromTypedId("whe", endpoint.id) as string;
  const insert = (of: string, status: string, count: number) =>
    services.database.query(sql`
      insert into webhook_delivery (id, endpoint_id, event_id, event_type, status, finished_at, attempts)
      select ${uuidV7Sql}, ${of}, ${uuidV7Sql}, 'job.updated', ${status}, now(), 1 from generate_series(1, ${count}::int)`);
  await insert(endpointId, "delivered", 20_000);
  await insert(endpointId, "failed", 5);
  await insert(newUuid(), "pending", 20_000);
  await services.database.query(sql`analyze webhook_delivery`);
  const [row] = await services.database.query<typeof week>(sql`
    select indrelid::regclass::text as table, indexrelid::regclass::text as failed from pg_index
    where pg_get_expr(indpred, indrelid) like '%failed%' and indrelid = (
      select tableoid from webhook_delivery where status = 'failed' limit 1)`);
  week = row as typeof week;
});

const nodesOf = (context: TestContext, texts: readonly string[], settings: string): Promise<PlanNode[]> =>
  nodesOfGenericPlans(context, services.databaseUrl, { texts, settings });

/** The setting that replays use. */
const NO_LOOPS = "set enable_nestloop = off";

const indexesOf = (nodes: readonly PlanNode[], table: string): (string | undefined)[] =>
  nodes.filter((node) => node["Relation Name"] === table).map((node) => node["Index Name"]);

it("lists failed deliveries with the index of failed deliveries", async (context) => {
  const texts: string[] = [];
  const since = new Date(services.clock.now() - 30 * DAY_MS);
  const page = { filter: { status: "failed" as const }, limit: 50, since };
  const { items } = await listDeliveries(listening(services, texts), systemPrincipal, page);
  expect(items).toHaveLength(5);
  const nodes = await nodesOf(context, texts, "");
  expect(indexesOf(nodes, week.table)).toEqual([week.failed]);
});

it("replays failed deliveries with that index and reads only the endpoint's own queue", async (context) => {
  const texts: string[] = [];
  const parts = { database: listening(services, texts), notifyWorkers: () => undefined, reserve: () => true };
  const since = new Date(Date.now() - HOUR_MS);
  expect(await replayFailed(parts, { endpointId, since })).toMatchObject({ replayed: 5 });
  const nodes = await nodesOf(context, texts, NO_LOOPS);
  const failed = nodes.filter(({ Alias = "" }) => Alias.startsWith("original"));
  expect(new Set(indexesOf(failed, week.table))).toEqual(new Set([week.failed]));
  expectLanes(nodes);
});

it("finds an attempt by its id without a scan of the attempts", async (context) => {
  // A few megabytes, inserted in id order like workers do.
  await services.database.query(sql`
    insert into webhook_attempt (id, delivery_id, number, started_at, duration_ms, outcome, request_headers)
    select ${uuidV7Sql}, id, number, now(), 1, 'delivered', json_build_object('user-agent', repeat('x', 300))
    from generate_series(1, 5) number, webhook_delivery where status = 'delivered'`);
  await services.database.query(sql`analyze webhook_attempt`);
  const [attempt] = await services.database.query<{ id: string }>(
    sql`select id from webhook_attempt order by id offset 1000 limit 1`,
  );
  const texts: string[] = [];
  const id = attempt?.id ?? "";
  expect(await findAttemptsById(listening(services, texts), systemPrincipal, [id])).toMatchObject([
    { id: toTypedId("att", id) },
  ]);
  const nodes = await nodesOf(context, texts, "");
  const attempts = week.table.replace("delivery_finished", "attempt");
  const filled = nodes.filter(({ "Relation Name": table }) => table === week.table || table === attempts);
  // An index-only scan once autovacuum has been here.
  const types = filled.map((node) => node["Node Type"].replace("Index Only Scan", "Index Scan"));
  expect(types.toSorted()).toEqual(["Bitmap Heap Scan", "Index Scan"]);
});

it("finds events without a delivery without scanning other queues", async (context) => {
  const texts: string[] = [];
  const parts = { database: listening(services, texts), notifyWorkers: () => undefined, reserve: () => true };
  const since = new Date(Date.now() - HOUR_MS);
  await replayMissing(parts, {
    endpointId,
    since,
    organizationId,
    organizationType: "agent",
    eventTypes: null,
  });
  expectLanes(await nodesOf(context, texts, NO_LOOPS));
});

it("deletes the deliveries of an organisation without a scan of those of others, or of the events", async (context) => {
  const partner = await services.createOrganization("agent");
  await services.endpoints.create(partner, { url: "http://127.0.0.1:9/webhooks" });
  await services.createJobs(partner, 10);
  const finished = sql`update webhook_delivery set status = 'failed', attempts = 1, finished_at = now()
    where status = 'pending' and event_id in (select id from job_event where agent_id = ${partner.organizationId} limit 5)`;
  await services.database.query(finished);
  await services.database.query(sql`delete from job_event where agent_id = ${partner.organizationId}`);
  const texts: string[] = [];
  expect(await deleteTestDeliveries(listening(services, texts), [partner.organizationId])).toBe(10);
  const nodes = await nodesOf(context, [...new Set(texts)], "set enable_seqscan = off");
  expect(nodes.map((node) => node["Node Type"])).not.toContain("Seq Scan");
  expect(new Set(indexesOf(nodes, "job_event"))).toEqual(new Set(["job_event_pkey"]));
  expect(new Set(indexesOf(nodes, "webhook_delivery_pending").filter(Boolean))).toEqual(
    new Set([
      "webhook_delivery_never_attempted",
      "webhook_delivery_retrying",
      "webhook_delivery_pending_pkey",
    ]),
  );
  const ofWeek = nodes.filter((node) => node["Relation Name"] === week.table && node["Index Name"]);
  expect(ofWeek.length).toBeGreaterThan(0);
  for (const node of ofWeek) expect(node["Index Cond"]).toMatch(/^\(\(endpoint_id >= /);
});

function expectLanes(nodes: readonly PlanNode[]): void {
  const reads = nodes.filter(
    (node) => node["Relation Name"] === "webhook_delivery_pending" && node["Node Type"] !== "ModifyTable",
  );
  const indexes = reads.flatMap((node) => [node, ...(node.Plans ?? [])]).map((node) => node["Index Name"]);
  expect(reads.map((node) => node["Node Type"])).not.toContain("Seq Scan");
  expect(new Set(indexes.filter(Boolean))).toEqual(
    new Set(["webhook_delivery_never_attempted", "webhook_delivery_retrying"]),
  );
}
