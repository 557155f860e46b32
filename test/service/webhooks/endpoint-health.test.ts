/** The health of endpoints in the last 24 hours. */
import { expect, it } from "vitest";
import { minUuidAt } from "../../../src/core/ids.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { systemPrincipal } from "../../../src/webhooks/webhook-principal.ts";
import { nodesOfGenericPlans } from "../../support/database/generic-plans.ts";
import { HOUR_MS } from "../../support/fake-clock.ts";
import { createAgentWithEndpoint } from "../../support/webhooks/delivery.fixture.ts";
import { listening, useWebhookServices } from "../../support/webhooks/service.fixture.ts";

const services = useWebhookServices();

interface Logged {
  outcome: string;
  count: number;
  /** Age of the deliveries and of their attempts. Default: now. */
  hoursAgo?: number;
  status?: "delivered" | "failed" | "pending";
}

/** Logs deliveries with one attempt each, of 1, 2, 3 … ms. */
async function log(endpoint: string, { outcome, count, hoursAgo = 0, status }: Logged): Promise<void> {
  const at = new Date(services.clock.now() - hoursAgo * HOUR_MS - 60_000);
  const prefix = minUuidAt(at).slice(0, 19);
  const finalStatus = status ?? (outcome === "delivered" ? "delivered" : "failed");
  await services.database.query(sql`
    with delivery as (
      insert into webhook_delivery (id, endpoint_id, event_id, event_type, status, attempts, outcome, due_at)
      select overlay(gen_random_uuid()::text placing ${prefix} from 1 for 19)::uuid, ${endpoint}, gen_random_uuid(), 'job.updated',
        ${finalStatus}, 1, ${outcome}, now() + interval '1 h' from generate_series(1, ${count}::int) returning id)
    insert into webhook_attempt (id, delivery_id, number, started_at, duration_ms, outcome, http_status, request_headers, response_body)
    select overlay(gen_random_uuid()::text placing ${prefix} from 1 for 19)::uuid, id, 1, ${at}, row_number() over (), ${outcome},
      substring(${outcome} from 'http_(.*)')::int, '{}', 'no stock' from delivery`);
}

const healthOf = async (uuid: string, principal = systemPrincipal) =>
  (await services.deliveries.health(principal, [uuid])).get(uuid);

it("measures all attempts of the last 24 hours, and the newest that failed", async () => {
  const { uuid, agent } = await createAgentWithEndpoint(services);
  await log(uuid, { outcome: "delivered", count: 90 });
  await log(uuid, { outcome: "http_500", count: 9, hoursAgo: 3 });
  await log(uuid, { outcome: "http_404", count: 1, hoursAgo: 1 });
  await log(uuid, { outcome: "http_503", count: 50, hoursAgo: 25 });
  expect(await healthOf(uuid, agent)).toMatchObject({
    attempts: 100,
    isSampled: false,
    successRate: 0.9,
    p50Ms: 40,
    p95Ms: 85,
    lastError: { outcome: "http_404", httpStatus: 404, responseBody: "no stock" },
    nextAttemptAt: null,
  });
});

it("measures retries of older deliveries, and says when the next one is", async () => {
  const { uuid } = await createAgentWithEndpoint(services);
  await log(uuid, { outcome: "http_500", count: 2, hoursAgo: 30, status: "pending" });
  await services.database.query(sql`
    update webhook_attempt set started_at = now() where delivery_id in (
      select id from webhook_delivery where endpoint_id = ${uuid} limit 1)`);
  const health = await healthOf(uuid);
  expect(health).toMatchObject({ attempts: 1, successRate: 0, lastError: { httpStatus: 500 } });
  expect(Date.parse(health?.nextAttemptAt ?? "")).toBeGreaterThan(Date.now());
});

it("names no next attempt of a paused endpoint, and the end of the pause of a blocked one", async () => {
  const { uuid, agent, id } = await createAgentWithEndpoint(services);
  await services.createJob(agent);
  const until = new Date(Date.now() + 2 * HOUR_MS);
  await services.database.query(sql`update webhook_endpoint set blocked_until = ${until} where id = ${uuid}`);
  expect(await healthOf(uuid)).toMatchObject({ attempts: 0, nextAttemptAt: until.toISOString() });
  await services.endpoints.pause(agent, id);
  expect(await healthOf(uuid)).toMatchObject({ successRate: null, nextAttemptAt: null });
});

it("measures the newest 41 deliveries of each hour of a busy endpoint", async () => {
  const { uuid } = await createAgentWithEndpoint(services);
  await log(uuid, { outcome: "delivered", count: 2_000 });
  await log(uuid, { outcome: "http_500", count: 30, hoursAgo: 5 });
  expect(await healthOf(uuid)).toMatchObject({ isSampled: true, attempts: 41 + 30, successRate: 41 / 71 });
});

it("measures fewer deliveries of each endpoint in a list of many, in one statement", async () => {
  const { uuid } = await createAgentWithEndpoint(services);
  await log(uuid, { outcome: "delivered", count: 2_000 });
  const ids = [uuid, ...Array.from({ length: 99 }, (_, n) => minUuidAt(new Date(n)))];
  const statements: string[] = [];
  const health = await services.deliveries.health(systemPrincipal, ids, listening(services, statements));
  expect(health.get(uuid)).toMatchObject({ isSampled: true, attempts: 8 });
  expect(statements).toHaveLength(1);
});

it("has no health for an endpoint of another organisation", async () => {
  const { uuid } = await createAgentWithEndpoint(services);
  const { agent: other } = await createAgentWithEndpoint(services);
  await log(uuid, { outcome: "http_500", count: 1 });
  expect(await healthOf(uuid, other)).toBeUndefined();
});

it("reads deliveries and attempts by an index", async (context) => {
  const { uuid } = await createAgentWithEndpoint(services);
  const texts: string[] = [];
  await services.deliveries.health(systemPrincipal, [uuid], listening(services, texts));
  // The tables are so small that PostgreSQL prefers to read all of them once it has counted their rows.
  const nodes = await nodesOfGenericPlans(context, services.databaseUrl, {
    texts,
    settings: "set enable_seqscan = off",
  });
  const reads = nodes.filter((node) => /^webhook_(delivery|attempt)/.test(node["Relation Name"] ?? ""));
  const indexes = reads.flatMap((node) => [node, ...(node.Plans ?? [])]).map((node) => node["Index Name"]);
  expect(reads.map((node) => node["Node Type"])).not.toContain("Seq Scan");
  const kinds = indexes.flatMap((name = "") => name.replace(/_20\d\dw\d\d_/, "_") || []);
  expect(new Set(kinds)).toEqual(
    new Set([
      "webhook_delivery_finished_endpoint_id_id_idx",
      "webhook_delivery_never_attempted",
      "webhook_delivery_retrying",
      "webhook_attempt_pkey",
    ]),
  );
});
