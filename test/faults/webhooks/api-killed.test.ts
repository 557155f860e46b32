/** The API is killed, or sends no notification, after a commit: the sweep finds the committed changes. */
import { expect, it, onTestFinished, vi } from "vitest";
import { updateRows } from "../../../src/jobs/update/update.sql.ts";
import { systemActor } from "../../../src/platform/principal.ts";
import { verifyDeliveries } from "../../support/faults/delivery-checks.ts";
import { eventually, startChangeLoad } from "../../support/faults/change-load.ts";
import {
  countEvents,
  openFaultFixture,
  patchWeight,
  type FaultFixture,
} from "../../support/faults/webhook.fixture.ts";

vi.setConfig({ testTimeout: 150_000 });

const changed = (markingNumber: string) => [{ markingNumber, patch: { weight: 7 } }];

async function openFixture(): Promise<FaultFixture> {
  const world = await openFaultFixture();
  await world.addEndpoint();
  await world.addEndpoint({ eventTypes: ["job.updated"] });
  await world.addEndpoint({ owner: world.contractor });
  return world;
}

// evidence: api-killed-committed-delivered
it("every committed change is delivered although the API is killed under load", async () => {
  const world = await openFixture();
  const numbers = await world.addJobs(8, "assigned");
  const eventsBefore = await countEvents(world);
  await world.startServer("worker");
  let api = await world.startServer("api");
  const load = startChangeLoad(numbers, (number, weight) => patchWeight(api, world.agent, number, weight));
  for (let kill = 0; kill < 2; kill += 1) {
    await load.waitForMore(15);
    await api.kill("SIGKILL");
    api = await world.startServer("api");
  }
  await load.waitForMore(15);
  await load.stop();
  expect((await countEvents(world)) - eventsBefore).toBeGreaterThanOrEqual(load.doneCount());
  await verifyDeliveries(world, { duplicates: 0 });
});

it("the sweep finds changes without a notification", async () => {
  const world = await openFixture();
  await world.startServer("worker");
  const numbers = await world.addJobs(5, "assigned");
  for (const [index, number] of numbers.entries()) await world.updateJob(number, index + 1, "silent");
  const { events } = await verifyDeliveries(world, { duplicates: 0 });
  expect(events).toBe(15);
});

it("a change that commits after later ones is delivered, and a rolled back one is not", async () => {
  const world = await openFixture();
  await world.startServer("all");
  const [slow = "", undone = "", quick = ""] = await world.addJobs(3, "assigned");
  const context = { actor: systemActor, requestId: null };
  const { promise: gate, resolve: commit } = Promise.withResolvers<void>();
  onTestFinished(() => commit());
  const written = Promise.withResolvers<void>();
  const late = world.database.transaction(async (tx) => {
    await updateRows(tx, world.agent, changed(slow), context);
    written.resolve();
    await gate;
  });
  await written.promise;
  await world.database.transaction((tx) => updateRows(tx, world.agent, changed(undone), context), "rollback");
  for (let weight = 1; weight <= 5; weight += 1) await world.updateJob(quick, weight);
  const bodies = (): string[] => world.receiver.received.map(({ body }) => body);
  // There are 7 events: one agent endpoint gets all, the other the 5 updates, the contractor's all but the first.
  await eventually(() => expect(bodies().filter((body) => body.includes(quick))).toHaveLength(7 + 5 + 6));
  expect(await verifyDeliveries(world, { duplicates: 0 })).toMatchObject({ events: 11 });
  commit();
  await late;
  world.notifyWorkers();
  await eventually(async () => expect(await countEvents(world)).toBe(12));
  expect(await verifyDeliveries(world, { duplicates: 0 })).toMatchObject({ events: 12 });
});
