/** The API or a worker is killed: committed changes are delivered, and another worker takes over. */
import { expect, it, vi } from "vitest";
import { expireLeases, verifyDeliveries, warmUp } from "../../support/faults/delivery-checks.ts";
import { createResponseGate, startChangeLoad } from "../../support/faults/change-load.ts";
import { eventually } from "../../support/eventually.ts";
import { countEvents, openFaultFixture, patchWeight } from "../../support/faults/webhook.fixture.ts";

vi.setConfig({ testTimeout: 150_000 });

// evidence: api-killed-committed-delivered
it("every committed change is delivered although the API is killed under load, or before it notifies workers", async () => {
  const fixture = await openFaultFixture();
  await fixture.addEndpoint();
  await fixture.addEndpoint({ eventTypes: ["job.updated"] });
  await fixture.addEndpoint({ owner: fixture.contractor });
  const numbers = await fixture.addJobs(8, "assigned");
  const eventsBefore = await countEvents(fixture);
  const [api] = await Promise.all([fixture.startServer("api"), fixture.startServer("worker")]);
  const load = startChangeLoad(numbers, (number, weight) => patchWeight(api, fixture.agent, number, weight));
  await load.waitForMore(30);
  await api.kill("SIGKILL");
  await load.stop();
  const changes = (await countEvents(fixture)) - eventsBefore;
  expect(changes).toBeGreaterThanOrEqual(load.doneCount());
  await verifyDeliveries(fixture, { duplicates: 0 });

  for (const number of numbers) await fixture.updateJob(number, -1, "silent");
  const { events } = await verifyDeliveries(fixture, { duplicates: 0 });
  expect(events).toBe(eventsBefore + changes + numbers.length);
});

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
