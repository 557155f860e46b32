/** The clock of a process changes under traffic: due deliveries are sent, and rate limits neither block nor grant extra requests. */
import { expect, it, vi } from "vitest";
import { startFaultTraffic } from "../../support/faults/traffic.ts";
import { openProcessClocks } from "../../support/processes/process-clocks.ts";
import { verifyDeliveries } from "../../support/faults/delivery-checks.ts";
import { failEveryThird, readinessStatus } from "../../support/faults/change-load.ts";
import { openFaultFixture } from "../../support/faults/webhook.fixture.ts";

vi.setConfig({ testTimeout: 120_000 });

const HOUR_MS = 3_600_000;

// evidence: clock-process-wrong
it.each([
  ["forward by an hour", HOUR_MS],
  ["back by an hour", -HOUR_MS],
  // More than RETENTION_DAYS: nothing may be purged.
  ["forward by 31 days", 31 * 24 * HOUR_MS],
])("serves requests and deliveries while its clock is set %s, and after the correction", async (_, byMs) => {
  const fixture = await openFaultFixture();
  const clocks = await openProcessClocks();
  await fixture.addEndpoint({ respond: failEveryThird() });
  await fixture.addEndpoint({ owner: fixture.contractor, respond: failEveryThird() });
  const numbers = await fixture.addJobs(5, "assigned");
  const server = await fixture.startServer("all", {
    ...clocks.env,
    RATE_LIMITS: "on",
    RATE_LIMIT_STORE: "memory",
  });
  const traffic = await startFaultTraffic(fixture, server, numbers);
  await traffic.waitForSuccesses();
  for (const ms of [byMs, 0]) {
    await clocks.setOffset(ms, [server]);
    await traffic.waitForSuccesses(5);
  }
  expect(traffic.rejectedAnswers).toEqual([]);
  await traffic.stopAndVerify();
  await verifyDeliveries(fixture, { duplicates: 0, hadWrongClock: true });
  expect(await readinessStatus(server)).toBe(200);
});
