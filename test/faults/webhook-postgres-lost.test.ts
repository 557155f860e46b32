/** PostgreSQL goes away under load and comes back: what it had committed is delivered, what was recorded is not sent again. */
import { expect, it, onTestFinished, vi } from "vitest";
import { startCuttableProxy } from "../support/cuttable-proxy.ts";
import { checkDelivered } from "../support/webhook-faults.check.ts";
import { eventually, readiness } from "../support/webhook-faults.load.ts";
import { giveUpLostLeases, startBoth } from "../support/webhook-faults.postgres.ts";
import { openFaultWorld, patchWeight } from "../support/webhook-faults.ts";

vi.setConfig({ testTimeout: 180_000, hookTimeout: 60_000 });

// evidence: postgres-cut-off-repeatedly
it("cut off again and again under load: nothing is lost, and only what had no record yet may come twice", async () => {
  const world = await openFaultWorld();
  const proxy = await startCuttableProxy(world.databaseUrl);
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  const { api, worker, load } = await startBoth(world, proxy.url);
  for (let cut = 0; cut < 2; cut += 1) {
    await load.more(15);
    proxy.cut();
    await eventually(async () => expect([await readiness(api), await readiness(worker)]).toEqual([503, 503]));
    expect(await patchWeight(api, world.agent, "any", 1)).toBe(false);
    proxy.mend();
  }
  await load.more(15);
  await load.stop();
  await checkDelivered(world, { duplicates: await giveUpLostLeases(world, worker) });
});
