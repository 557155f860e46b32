/** PostgreSQL becomes unreachable under load: committed changes are delivered, and recorded deliveries are not repeated. */
import { expect, it, onTestFinished, vi } from "vitest";
import { startFaultProxy } from "../../../support/database/fault-proxy.ts";
import { verifyDeliveries } from "../../../support/faults/delivery-checks.ts";
import { readinessStatus } from "../../../support/faults/change-load.ts";
import { eventually } from "../../../support/eventually.ts";
import { expireLostLeases, startApiAndWorker } from "../../../support/faults/postgres.fixture.ts";
import { openFaultFixture, patchWeight } from "../../../support/faults/webhook.fixture.ts";

vi.setConfig({ testTimeout: 180_000, hookTimeout: 60_000 });

// evidence: postgres-cut-off-repeatedly
it("loses no delivery across repeated disconnects, and repeats only unrecorded ones", async () => {
  const fixture = await openFaultFixture();
  const proxy = await startFaultProxy(fixture.databaseUrl);
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  const { api, worker, load } = await startApiAndWorker(fixture, proxy.url);
  for (let cut = 0; cut < 2; cut += 1) {
    await load.waitForMore(15);
    proxy.disconnect();
    await eventually(async () =>
      expect([await readinessStatus(api), await readinessStatus(worker)]).toEqual([503, 503]),
    );
    expect(await patchWeight(api, fixture.agent, "any", 1)).toBe(false);
    proxy.restore();
  }
  await load.waitForMore(15);
  await load.stop();
  await verifyDeliveries(fixture, { duplicates: await expireLostLeases(fixture, worker) });
});
