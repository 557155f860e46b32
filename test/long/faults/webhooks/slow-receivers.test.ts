/** A worker with receivers that hang, send endless bodies, redirect, or return 410 or Retry-After. */
import { expect, it, vi } from "vitest";
import { sql } from "../../../../src/core/postgres/sql.ts";
import { INITIAL_WINDOW } from "../../../../src/webhooks/dispatcher/endpoint-states.ts";
import { verifyDeliveries, listAttemptOutcomes } from "../../../support/faults/delivery-checks.ts";
import {
  createResponseGate,
  endlessBody,
  eventually,
  firstResponse,
} from "../../../support/faults/change-load.ts";
import {
  openFaultFixture,
  type FaultEndpoint,
  type FaultFixture,
} from "../../../support/faults/webhook.fixture.ts";
import { startTestReceiver, type ReceiverReply } from "../../../support/webhooks/receiver.ts";

vi.setConfig({ testTimeout: 150_000 });

const OK = {};

it("a hanging endpoint does not delay 99 others", async () => {
  const fixture = await openFaultFixture();
  const gate = createResponseGate();
  const hanging = await fixture.addEndpoint({ respond: gate.respond });
  const healthy: FaultEndpoint[] = [];
  for (let count = 1; count < 100; count += 1) {
    const owner = count < 50 ? fixture.agent : fixture.contractor;
    healthy.push(await fixture.addEndpoint({ owner }));
  }
  await fixture.startServer("worker");
  gate.block();
  await fixture.addJobs(5, "assigned");
  fixture.notifyWorkers();
  // Each job has two events for the agent's endpoints and one for the contractor's.
  await eventually(() =>
    expect(healthy.reduce((sum, endpoint) => sum + endpoint.received().length, 0)).toBe(49 * 10 + 50 * 5),
  );
  expect(hanging.received()).toHaveLength(INITIAL_WINDOW);
  expect(gate.blockedCount()).toBe(INITIAL_WINDOW);
  gate.release();
  await verifyDeliveries(fixture, { duplicates: 0 });
});

it("an endless response body does not fail the attempt, and redirects are not followed", async () => {
  await using trap = await startTestReceiver();
  const fixture = await openFaultFixture();
  const endless = await fixture.addEndpoint({ respond: endlessBody(4_096, 5) });
  const locations = [trap.url, "http://169.254.169.254/latest/meta-data/", "//[::1]/"];
  const redirecting: FaultEndpoint[] = [];
  for (const location of locations) {
    const respond = firstResponse(() => ({ status: 307, headers: { location } }));
    redirecting.push(await fixture.addEndpoint({ respond }));
  }
  await fixture.startServer("worker");
  await fixture.addJobs(1);
  fixture.notifyWorkers();
  await verifyDeliveries(fixture, { duplicates: 0 });
  expect(await listAttemptOutcomes(fixture, endless)).toEqual(["delivered"]);
  for (const endpoint of redirecting)
    expect(await listAttemptOutcomes(fixture, endpoint)).toEqual(["http_307", "delivered"]);
  expect(trap.received).toEqual([]);
});

it("410 disables an endpoint, and Retry-After blocks it for the given time, up to 24 hours", async () => {
  const fixture = await openFaultFixture();
  const addEndpointWithRetryAfter = (status: number, value: string) =>
    fixture.addEndpoint({
      maxInFlight: 1,
      respond: (): ReceiverReply => ({ status, headers: { "retry-after": value } }),
    });
  const hourLater = new Date(Date.now() + 3_600_000).toUTCString();
  const blockedEndpoints = [
    await addEndpointWithRetryAfter(429, "120"),
    await addEndpointWithRetryAfter(503, hourLater),
    await addEndpointWithRetryAfter(429, "99999999999"),
  ];
  const gone = await fixture.addEndpoint({ maxInFlight: 1, respond: () => ({ status: 410 }) });
  const invalidRetryAfter = await fixture.addEndpoint({
    respond: firstResponse(() => ({ status: 429, headers: { "retry-after": "-5" } })),
  });
  await fixture.startServer("worker");
  await fixture.addJobs(2);
  fixture.notifyWorkers();
  await eventually(async () => {
    const blocked = await Promise.all(blockedEndpoints.map((endpoint) => blockedForS(fixture, endpoint)));
    expect(blocked.map((seconds) => Math.ceil(seconds / 3_600))).toEqual([1, 1, 24]);
    expect(blocked[0]).toBeLessThanOrEqual(120);
  });
  await eventually(async () => expect(await statusOf(fixture, gone)).toBe("disabled"));

  await fixture.addJobs(3);
  fixture.notifyWorkers();
  await eventually(async () => expect(await listAttemptOutcomes(fixture, invalidRetryAfter)).toHaveLength(6));
  expect([...blockedEndpoints, gone].map((endpoint) => endpoint.received().length)).toEqual([1, 1, 1, 1]);

  // The owner repairs the receivers and resumes the endpoints.
  for (const endpoint of [...blockedEndpoints, gone]) {
    endpoint.respond = () => OK;
    await fixture.endpointService.resume(fixture.agent, endpoint.typedId);
  }
  await fixture.database.query(
    sql`update webhook_delivery set due_at = clock_timestamp() where status = 'pending' and lease_token is null`,
  );
  expect(await verifyDeliveries(fixture, { duplicates: 0 })).toMatchObject({ maxAttempts: 2 });
});

async function blockedForS({ database }: FaultFixture, { id }: FaultEndpoint): Promise<number> {
  const [row] = await database.query<{ seconds: number }>(sql`
    select coalesce(extract(epoch from blocked_until - clock_timestamp()), 0)::float8 as seconds
    from webhook_endpoint where id = ${id}`);
  return row?.seconds ?? 0;
}

async function statusOf({ database }: FaultFixture, { id }: FaultEndpoint): Promise<string> {
  const [row] = await database.query<{ status: string }>(
    sql`select status from webhook_endpoint where id = ${id}`,
  );
  return row?.status ?? "";
}
