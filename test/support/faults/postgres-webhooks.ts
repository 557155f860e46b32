/** What the fault tests of PostgreSQL have in common: an API and a worker under load, and what a lost answer leaves behind. */
import { expect } from "vitest";
import { sql } from "../../../src/platform/postgres/sql.ts";
import type { ServerProcess } from "../processes/server-process.ts";
import { expireLeases } from "./delivery-checks.ts";
import { eventually, sumMetric, startChangeLoad } from "./change-load.ts";
import { patchWeight, type FaultFixture } from "./webhook.fixture.ts";

/** An API and a worker that find their database at `url`, and a load on the API. */
export async function startApiAndWorker(world: FaultFixture, url: string) {
  await world.addEndpoint();
  await world.addEndpoint({ maxInFlight: 1 });
  await world.addEndpoint({ owner: world.contractor });
  const numbers = await world.addJobs(6, "assigned");
  const [api, worker] = await Promise.all([
    world.startServer("api", { DATABASE_URL: url }),
    world.startServer("worker", { DATABASE_URL: url }),
  ]);
  const load = startChangeLoad(numbers, (number, weight) => patchWeight(api, world.agent, number, weight));
  return { api, worker, load };
}

/** How many requests may be on their way at once. */
export function totalMaxInFlight({ endpoints }: Pick<FaultFixture, "endpoints">): number {
  return endpoints.reduce((sum, { maxInFlight }) => sum + maxInFlight, 0);
}

/**
 * How many requests may come twice where PostgreSQL crashed between these times, once or more often. A worker waits for no
 * disk, but a change does, and takes along what was written before it: whatever was recorded when the last change before
 * the crash was made is kept. In doubt is what was sent since, and what was on its way at either end.
 */
export async function countPossibleDuplicates(
  world: FaultFixture,
  { fromMs, untilMs }: { fromMs: number; untilMs: number },
): Promise<number> {
  const [row] = await world.database.query<{ at_ms: number }>(sql`
    select floor(extract(epoch from max(occurred_at)) * 1000)::float8 as at_ms from job_event
    where occurred_at < to_timestamp(${fromMs / 1000})`);
  const keptMs = row?.at_ms ?? 0;
  const sent = world.receiver.received.filter(({ atMs }) => atMs >= keptMs && atMs <= untilMs);
  return sent.length + 2 * totalMaxInFlight(world);
}

/**
 * A claim whose answer was lost on its way is nobody's until its lease runs out. For tests that do not wait for that: as if
 * half a minute had passed. Answers with how many of them there were; only what the worker had sent and not yet recorded
 * may come twice.
 */
export async function expireLostLeases(world: FaultFixture, worker: ServerProcess): Promise<number> {
  const inFlight = (): Promise<number> => sumMetric(worker, "waymark_webhook_deliveries_in_flight");
  await eventually(async () => expect(await inFlight()).toBe(0));
  return expireLeases(world);
}
