/** A worker is killed while sending: another one takes over. */
import { expect, it, vi } from "vitest";
import { verifyDeliveries, expireLeases, warmUp } from "../../support/faults/delivery-checks.ts";
import { createResponseGate } from "../../support/faults/change-load.ts";
import { eventually } from "../../support/eventually.ts";
import { openFaultFixture } from "../../support/faults/webhook.fixture.ts";

vi.setConfig({ testTimeout: 150_000 });

// evidence: worker-killed-in-flight-resent
it("only deliveries in flight are sent again if the worker is killed before the responses", async () => {
  const fixture = await openFaultFixture();
  const gate = createResponseGate();
  for (let count = 0; count < 4; count += 1) await fixture.addEndpoint({ respond: gate.respond });
  await fixture.addEndpoint({ owner: fixture.contractor, respond: gate.respond });
  await fixture.addEndpoint({ eventTypes: ["job.assigned"], respond: gate.respond });
  const inFlight = fixture.endpoints.reduce((sum, { maxInFlight }) => sum + maxInFlight, 0);
  const killed = await fixture.startServer("worker");
  await warmUp(fixture);
  gate.block();
  await fixture.addJobs(10, "assigned");
  fixture.notifyWorkers();
  await eventually(() => expect(gate.blockedCount()).toBe(inFlight));
  expect(await killed.kill("SIGKILL")).toBe("SIGKILL");
  gate.release();

  expect(await expireLeases(fixture)).toBe(inFlight);
  await fixture.startServer("worker");
  const { events, duplicates, maxAttempts } = await verifyDeliveries(fixture, { duplicates: inFlight });
  expect({ events, duplicates, maxAttempts }).toEqual({
    events: 22,
    duplicates: inFlight,
    maxAttempts: 2,
  });
});
