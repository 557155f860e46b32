/** The API that is killed, or says nothing, between a commit and its notification: the sweep finds what was committed. */
import { expect, it, onTestFinished, vi } from "vitest";
import { updateRows } from "../../src/jobs/job.update.ts";
import { systemActor } from "../../src/platform/principal.ts";
import { checkDelivered } from "../support/webhook-faults.check.ts";
import { eventually, startLoad } from "../support/webhook-faults.load.ts";
import { countEvents, openFaultWorld, patchWeight, type FaultWorld } from "../support/webhook-faults.ts";

vi.setConfig({ testTimeout: 150_000 });

const changed = (markingNumber: string) => [{ markingNumber, patch: { weight: 7 } }];

async function openWorld(): Promise<FaultWorld> {
  const world = await openFaultWorld();
  await world.addEndpoint();
  await world.addEndpoint({ eventTypes: ["job.updated"] });
  await world.addEndpoint({ owner: world.contractor });
  return world;
}

// evidence: api-killed-committed-delivered
it("killed under load: what was answered with success is delivered, and so is what was only committed", async () => {
  const world = await openWorld();
  const numbers = await world.addJobs(8, "assigned");
  const made = await countEvents(world);
  await world.start("worker");
  let api = await world.start("api");
  const load = startLoad(numbers, (number, weight) => patchWeight(api, world.agent, number, weight));
  for (let kill = 0; kill < 2; kill += 1) {
    await load.more(15);
    await api.kill("SIGKILL");
    api = await world.start("api");
  }
  await load.more(15);
  await load.stop();
  expect((await countEvents(world)) - made).toBeGreaterThanOrEqual(load.done());
  await checkDelivered(world, { duplicates: 0 });
});

it("changes that nobody was notified of are found by the sweep", async () => {
  const world = await openWorld();
  await world.start("worker");
  const numbers = await world.addJobs(5, "assigned");
  for (const [at, number] of numbers.entries()) await world.change(number, at + 1, "unannounced");
  const { events } = await checkDelivered(world, { duplicates: 0 });
  expect(events).toBe(15);
});

it("a change that commits long after later ones is delivered, and one that is undone is not", async () => {
  const world = await openWorld();
  await world.start("all");
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
  for (let weight = 1; weight <= 5; weight += 1) await world.change(quick, weight);
  const bodies = (): string[] => world.receiver.received.map(({ body }) => body);
  // Of seven events the agent's endpoints get all and the five updates, the contractor's all but the first.
  await eventually(() => expect(bodies().filter((body) => body.includes(quick))).toHaveLength(7 + 5 + 6));
  expect(await checkDelivered(world, { duplicates: 0 })).toMatchObject({ events: 11 });
  commit();
  await late;
  world.announce();
  await eventually(async () => expect(await countEvents(world)).toBe(12));
  expect(await checkDelivered(world, { duplicates: 0 })).toMatchObject({ events: 12 });
});
