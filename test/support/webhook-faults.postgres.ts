/** What the fault tests of PostgreSQL have in common: an API and a worker under load, and what a lost answer leaves behind. */
import { expect } from "vitest";
import type { ServerProcess } from "./server-process.ts";
import { expireLeases } from "./webhook-faults.check.ts";
import { eventually, metricOf, startLoad } from "./webhook-faults.load.ts";
import { patchWeight, type FaultWorld } from "./webhook-faults.ts";

/** An API and a worker that find their database at `url`, and a load on the API. */
export async function startBoth(world: FaultWorld, url: string) {
  await world.addEndpoint();
  await world.addEndpoint({ maxInFlight: 1 });
  await world.addEndpoint({ owner: world.contractor });
  const numbers = await world.addJobs(6, "assigned");
  const [api, worker] = await Promise.all([
    world.start("api", { DATABASE_URL: url }),
    world.start("worker", { DATABASE_URL: url }),
  ]);
  const load = startLoad(numbers, (number, weight) => patchWeight(api, world.agent, number, weight));
  return { api, worker, load };
}

/**
 * A claim whose answer was lost on its way is nobody's until its lease runs out: it is not waited for here. Answers with
 * how many of them there were; only what the worker had sent and not yet recorded may come twice.
 */
export async function giveUpLostLeases(world: FaultWorld, worker: ServerProcess): Promise<number> {
  const inFlight = (): Promise<number> => metricOf(worker, "waymark_webhook_in_flight");
  await eventually(async () => expect(await inFlight()).toBe(0));
  return expireLeases(world);
}
