/** The clock of a process is set while traffic runs: what is due goes out, nobody is shut out, and nothing is given away. */
import { expect, it, vi } from "vitest";
import { startTraffic } from "../support/fault-traffic.ts";
import { openClocks } from "../support/set-clocks.ts";
import { checkDelivered } from "../support/webhook-faults.check.ts";
import { failEveryThird, readiness } from "../support/webhook-faults.load.ts";
import { openFaultWorld } from "../support/webhook-faults.ts";

vi.setConfig({ testTimeout: 120_000 });

const HOUR_MS = 3_600_000;

// evidence: clock-process-wrong
it.each([
  ["an hour forwards", HOUR_MS],
  ["an hour back", -HOUR_MS],
  // Further than RETENTION_DAYS: nothing may be purged by it.
  ["31 days forwards", 31 * 24 * HOUR_MS],
])("set %s, and right again", async (_, byMs) => {
  const world = await openFaultWorld();
  const clocks = await openClocks();
  await world.addEndpoint({ respond: failEveryThird() });
  await world.addEndpoint({ owner: world.contractor, respond: failEveryThird() });
  const numbers = await world.addJobs(5, "assigned");
  const server = await world.start("all", { ...clocks.env, RATE_LIMITS: "on", RATE_LIMIT_STORE: "memory" });
  const traffic = await startTraffic(world, server, numbers);
  await traffic.succeeds();
  for (const ms of [byMs, 0]) {
    await clocks.set(ms, [server]);
    await traffic.succeeds(5);
  }
  expect(traffic.refused()).toBe(0);
  await traffic.check();
  await checkDelivered(world, { duplicates: 0, clockWasWrong: true });
  expect(await readiness(server)).toBe(200);
});
