/** What the fault tests of PostgreSQL have in common: an API and a worker under load, and what a lost answer leaves behind. */
import { expect } from "vitest";
import { sql } from "../../src/platform/sql.ts";
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

/** How many requests may be on their way at once. */
export function inFlightOf({ endpoints }: Pick<FaultWorld, "endpoints">): number {
  return endpoints.reduce((sum, { maxInFlight }) => sum + maxInFlight, 0);
}

/**
 * How many requests may come twice where PostgreSQL crashed between these times, once or more often. A worker waits for no
 * disk, but a change does, and takes along what was written before it: whatever was recorded when the last change before
 * the crash was made is kept. In doubt is what was sent since, and what was on its way at either end.
 */
export async function sentInDoubt(
  world: FaultWorld,
  { fromMs, untilMs }: { fromMs: number; untilMs: number },
): Promise<number> {
  const [row] = await world.database.query<{ at_ms: number }>(sql`
    select floor(extract(epoch from max(occurred_at)) * 1000)::float8 as at_ms from job_event
    where occurred_at < to_timestamp(${fromMs / 1000})`);
  const keptMs = row?.at_ms ?? 0;
  const sent = world.receiver.received.filter(({ atMs }) => atMs >= keptMs && atMs <= untilMs);
  return sent.length + 2 * inFlightOf(world);
}

/**
 * A claim whose answer was lost on its way is nobody's until its lease runs out. For tests that do not wait for that: as if
 * half a minute had passed. Answers with how many of them there were; only what the worker had sent and not yet recorded
 * may come twice.
 */
export async function giveUpLostLeases(world: FaultWorld, worker: ServerProcess): Promise<number> {
  const inFlight = (): Promise<number> => metricOf(worker, "waymark_webhook_in_flight");
  await eventually(async () => expect(await inFlight()).toBe(0));
  return expireLeases(world);
}
