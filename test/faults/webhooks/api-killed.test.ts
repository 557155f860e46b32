/** The API is killed, or sends no notification, after a commit: the sweep finds the committed changes. */
import { expect, it, vi } from "vitest";
import { verifyDeliveries } from "../../support/faults/delivery-checks.ts";
import { startChangeLoad } from "../../support/faults/change-load.ts";
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
