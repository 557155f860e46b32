/** Rows and WAL of one change if both organisations have the maximum number of paused endpoints. */
import { afterAll, beforeAll, expect, it } from "vitest";
import type { OrganizationPrincipal } from "../../../src/platform/principal.ts";
import { sql } from "../../../src/platform/postgres/sql.ts";
import { MAX_ENDPOINTS } from "../../../src/webhooks/endpoints/quota.ts";
import { UNREACHABLE_URL } from "../../support/webhooks/endpoint.fixture.ts";
import {
  openWebhookServiceFixture,
  type WebhookServiceFixture,
} from "../../support/webhooks/service.fixture.ts";

const CHANGES = 20;

let services: WebhookServiceFixture;
beforeAll(async () => {
  services = await openWebhookServiceFixture();
});
afterAll(() => services[Symbol.asyncDispose]());

async function pausedEndpoints(owner: OrganizationPrincipal): Promise<void> {
  for (let at = 0; at < MAX_ENDPOINTS.live; at += 1) {
    const { endpoint } = await services.endpoints.create(owner, { url: UNREACHABLE_URL });
    await services.endpoints.pause(owner, endpoint.id);
  }
}

async function read(): Promise<{ rows: number; at: number }> {
  const [row] = await services.database.query<{ rows: number; at: string }>(sql`
    select (select count(*)::int from webhook_delivery) as rows, pg_current_wal_insert_lsn() - '0/0'::pg_lsn as at`);
  return { rows: row?.rows ?? 0, at: Number(row?.at) };
}

/** The deliveries and the fewest bytes of WAL for one new job. Other tests write to the same WAL, which only adds to a measurement. */
async function writtenFor(
  agent: OrganizationPrincipal,
  contractor: OrganizationPrincipal,
): Promise<{ rows: number; bytes: number }> {
  const first = await read();
  let bytes = Number.POSITIVE_INFINITY;
  let before = first;
  for (let change = 0; change < CHANGES; change += 1) {
    await services.createJob(agent, contractor);
    const after = await read();
    bytes = Math.min(bytes, after.at - before.at);
    before = after;
  }
  return { rows: (before.rows - first.rows) / CHANGES, bytes };
}

// evidence: webhook-deliveries-per-change
it("a change writes one delivery of less than 1 KiB for each of 50 + 50 endpoints", async () => {
  const [agent, contractor] = [
    await services.createOrganization("agent"),
    await services.createOrganization("contractor"),
  ];
  const without = await writtenFor(agent, contractor);
  expect(without.rows).toBe(0);
  await pausedEndpoints(agent);
  await pausedEndpoints(contractor);
  const full = await writtenFor(agent, contractor);
  // A new job with a contractor is two events, of which the contractor sees the second.
  expect(full.rows).toBe(3 * MAX_ENDPOINTS.live);
  const [event] = await services.database.query<{ most: number }>(sql`
    select count(*)::int as most from webhook_delivery group by event_id order by 1 desc limit 1`);
  expect(event?.most).toBe(2 * MAX_ENDPOINTS.live);
  expect((full.bytes - without.bytes) / full.rows).toBeLessThan(1_024);
  await expect(services.endpoints.create(agent, { url: UNREACHABLE_URL })).rejects.toMatchObject({
    code: "ConflictException",
  });
});
