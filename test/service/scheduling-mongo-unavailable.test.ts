import { expect, it, vi } from "vitest";
import { taskHandler, recurringHandler } from "../../src/scheduling/task.ts";
import { startFaultProxy, type FaultProxy } from "../support/database/fault-proxy.ts";
import { eventually, openSchedulerFixture, type LogLine } from "../support/scheduler.fixture.ts";
import { recurringTask, onceTask } from "../support/scheduler-tasks.ts";

const soon = (): Date => new Date();

/** With times that notice quickly what becomes of it, and no way around it such as a replica set knows. */
async function startProxy(url: string): Promise<FaultProxy> {
  const [address] = url.split("?");
  return await startFaultProxy(
    `${address}?directConnection=true&heartbeatFrequencyMS=500&connectTimeoutMS=500`,
  );
}

it("waits for MongoDB where there is none at the start, says so, and begins when it is there", async () => {
  const { url, addScheduler } = openSchedulerFixture();
  await using proxy = await startProxy(url);
  proxy.disconnect();
  const { scheduler } = addScheduler({ url: proxy.url });
  const once = vi.fn<(payload: { n: number }) => void>();
  const again = vi.fn<() => void>();
  scheduler.start([taskHandler(onceTask, once), recurringHandler(recurringTask, 50, again)]);
  scheduler.schedule(onceTask, { n: 1 }, soon());
  await eventually(() =>
    expect(scheduler.status()).toEqual({ status: "down", message: "MongoDB: unreachable" }),
  );
  proxy.restore();
  await eventually(() => {
    expect(once).toHaveBeenCalledWith({ n: 1 });
    expect(again.mock.calls.length).toBeGreaterThan(2);
    expect(scheduler.status()).toEqual({ status: "up" });
  });
});

it.each(["disconnect", "stall"] as const)(
  "goes on by itself when MongoDB is back (%s), with what was scheduled meanwhile",
  async (away) => {
    const { url, tasks, addScheduler } = openSchedulerFixture();
    await using proxy = await startProxy(url);
    const { scheduler, log } = addScheduler({ url: proxy.url, times: { lockLifetimeMs: 1_000 } });
    const once = vi.fn<(payload: { n: number }) => void>();
    const again = vi.fn<() => void>();
    scheduler.start([taskHandler(onceTask, once), recurringHandler(recurringTask, 50, again)]);
    await eventually(() => expect(again.mock.calls.length).toBeGreaterThan(2));
    proxy[away]();
    scheduler.schedule(onceTask, { n: 1 }, soon());
    const told = (text: string): LogLine[] => log.filter(({ msg }) => msg.includes(text));
    await eventually(() => expect(told("scheduled tasks are paused")).toHaveLength(1));
    expect(scheduler.status()).toEqual({ status: "down", message: "MongoDB: unreachable" });
    scheduler.schedule(onceTask, { n: 2 }, soon());
    const before = again.mock.calls.length;
    proxy.restore();
    await eventually(async () => {
      // At least once each: a lock may run out while MongoDB hangs, and a handler only pokes.
      expect(new Set(once.mock.calls.map(([{ n }]) => n))).toEqual(new Set([1, 2]));
      expect(again.mock.calls.length).toBeGreaterThan(before + 2);
      expect(await tasks.countDocuments({ name: onceTask.name })).toBe(0);
    });
    // A line when it went and one when it came, not one for each look.
    await eventually(() => expect(told("running again")).toHaveLength(1));
    expect(told("scheduled tasks are paused")).toHaveLength(1);
  },
);

it("keeps only so much for a MongoDB that is away, and tells how much it did not", async () => {
  const { url, tasks, addScheduler } = openSchedulerFixture();
  await using proxy = await startProxy(url);
  proxy.disconnect();
  const { scheduler, log } = addScheduler({ url: proxy.url, capacity: 100 });
  for (let n = 0; n < 250; n += 1) scheduler.schedule(onceTask, { n }, soon());
  proxy.restore();
  await eventually(() =>
    expect(log).toContainEqual(expect.objectContaining({ level: "warn", dropped: 150 })),
  );
  expect(await tasks.countDocuments()).toBe(100);
});

it("stops while MongoDB is away", async () => {
  const { url, addScheduler } = openSchedulerFixture();
  await using proxy = await startProxy(url);
  const { scheduler } = addScheduler({ url: proxy.url });
  scheduler.start([recurringHandler(recurringTask, 50, () => undefined)]);
  await eventually(() => expect(scheduler.status().status).toBe("up"));
  proxy.disconnect();
  scheduler.schedule(onceTask, { n: 1 }, soon());
  await eventually(() => expect(scheduler.status().status).toBe("down"));
  await scheduler[Symbol.asyncDispose]();
  expect(scheduler.status()).toEqual({ status: "down", message: "is stopping" });
});
