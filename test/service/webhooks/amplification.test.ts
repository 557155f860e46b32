/** Rows and bytes of one change if both organisations have the maximum number of paused endpoints. */
import { expect, it } from "vitest";
import type { OrganizationPrincipal } from "../../../src/core/principal.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { MAX_ENDPOINTS } from "../../../src/webhooks/endpoints/service.ts";
import { UNREACHABLE_URL } from "../../support/webhooks/endpoint.fixture.ts";
import { useWebhookServices } from "../../support/webhooks/service.fixture.ts";

const CHANGES = 20;

const services = useWebhookServices();
async function pausedEndpoints(owner: OrganizationPrincipal): Promise<void> {
  for (let at = 0; at < MAX_ENDPOINTS.live; at += 1) {
    const { endpoint } = await services.endpoints.create(owner, { url: UNREACHABLE_URL });
    await services.endpoints.pause(owner, endpoint.id);
  }
}

/** The deliveries of this database, and the bytes of their table with its indexes. */
async function read(): Promise<{ rows: number; bytes: number }> {
  const [row] = await services.database.query<{ rows: number; bytes: number }>(sql`
    select (select count(*)::int from webhook_delivery) as rows, sum(pg_total_relation_size(relid))::int as bytes
    from pg_partition_tree('webhook_delivery')`);
  if (!row) throw new Error("no row");
  return row;
}

/** The deliveries that one new job writes, and their bytes. */
async function writtenFor(
  agent: OrganizationPrincipal,
  contractor: OrganizationPrincipal,
): Promise<{ rows: number; bytes: number }> {
  const before = await read();
  for (let change = 0; change < CHANGES; change += 1) await services.createJob(agent, contractor);
  const after = await read();
  return { rows: (after.rows - before.rows) / CHANGES, bytes: (after.bytes - before.bytes) / CHANGES };
}

// evidence: webhook-deliveries-per-change
it("a change writes one delivery of less than 512 bytes for each of 50 + 50 endpoints", async () => {
  const [agent, contractor] = [
    await services.createOrganization("agent"),
    await services.createOrganization("contractor"),
  ];
  expect(await writtenFor(agent, contractor)).toEqual({ rows: 0, bytes: 0 });
  await pausedEndpoints(agent);
  await pausedEndpoints(contractor);
  const full = await writtenFor(agent, contractor);
  // A new job with a contractor is two events, of which the contractor sees the second.
  expect(full.rows).toBe(3 * MAX_ENDPOINTS.live);
  const [event] = await services.database.query<{ most: number }>(sql`
    select count(*)::int as most from webhook_delivery group by event_id order by 1 desc limit 1`);
  expect(event?.most).toBe(2 * MAX_ENDPOINTS.live);
  const perDelivery = full.bytes / full.rows;
  expect(perDelivery).toBeGreaterThan(100);
  expect(perDelivery).toBeLessThan(512);
});
