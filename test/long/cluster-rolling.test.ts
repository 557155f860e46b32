/** A release in the middle of the day: every process is replaced, one after the other, and nobody notices. */
import { expect, it, onTestFinished, vi } from "vitest";
import { toTypedId } from "../../src/platform/ids.ts";
import { sql } from "../../src/platform/sql.ts";
import { startFollower, startTraffic } from "../support/cluster.load.ts";
import { replace, startTestCluster } from "../support/cluster.ts";
import { checkDelivered } from "../support/webhook-faults.check.ts";
import { eventually } from "../support/webhook-faults.load.ts";
import { openFaultWorld, type FaultWorld } from "../support/webhook-faults.ts";

vi.setConfig({ testTimeout: 400_000 });

it("every process replaced under load: no request fails, no delivery is lost, late or sent twice, subscribers come back", async () => {
  const cluster = await startTestCluster({ RATE_LIMITS: "off" });
  onTestFinished(() => cluster[Symbol.asyncDispose]());
  const world = await openFaultWorld(cluster);
  for (let count = 0; count < 3; count += 1) await world.addEndpoint({ maxInFlight: 8 });
  const numbers = await world.addJobs(20);
  const caller = { url: cluster.url, key: world.agent.key };
  const followers = [startFollower(caller), startFollower(caller)];
  const traffic = startTraffic(caller, numbers);
  await traffic.more(5);
  await eventually(() => {
    for (const follower of followers) expect(follower.told()).toBeGreaterThan(0);
  });
  const before = await eventually(() => eventsOf(world, 0));

  const codes: unknown[] = [];
  for (const member of [...cluster.apis, ...cluster.workers]) {
    codes.push(await replace(member));
    await traffic.more(5);
  }
  await traffic.stop();

  expect(codes).toEqual([0, 0, 0, 0]);
  expect(traffic.failures).toEqual([]);
  expect(cluster.balancer.unanswered).toEqual([]);
  // Each at its first attempt: nothing waited for a lease to run out.
  expect(await checkDelivered(world, { duplicates: 0 })).toMatchObject({ duplicates: 0, mostAttempts: 1 });
  const since = await eventually(() => eventsOf(world, before.length));
  for (const follower of followers) {
    await follower.stop();
    expect(since.filter((id) => !follower.seen.has(id))).toEqual([]);
  }
  // Whichever API they were with, it was replaced.
  expect(followers.map((follower) => follower.returns() > 0)).toEqual([true, true]);
});

/** The ids of all events but the first so many. */
async function eventsOf({ database }: FaultWorld, skipped: number): Promise<string[]> {
  const rows = await database.query<{ id: string }>(
    sql`select id from job_event order by id offset ${skipped}`,
  );
  return rows.map(({ id }) => toTypedId("evt", id));
}
