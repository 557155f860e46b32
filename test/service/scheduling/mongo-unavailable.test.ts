import { expect, it, vi } from "vitest";
import { taskHandler, recurringHandler } from "../../../src/scheduling/task.ts";
import { startFaultProxy, type FaultProxy } from "../../support/database/fault-proxy.ts";
import { eventually } from "../../support/eventually.ts";
import { openSchedulerFixture, type LogLine } from "../../support/scheduler.fixture.ts";
import { recurringTask, onceTask } from "../../support/scheduler-tasks.ts";

const soon = (): Date => new Date();

/** Uses short timeouts, and a direct connection so that the driver cannot bypass the proxy. */
async function startProxy(url: string): Promise<FaultProxy> {
  const [address] = url.split("?");
  return await startFaultProxy(
    `${address}?directConnection=true&heartbeatFrequencyMS=500&connectTimeoutMS=500&serverSelectionTimeoutMS=500`,
  );
}

it("reports that MongoDB is unavailable at the start and runs tasks when it is available", async () => {
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
  "recovers after MongoDB was unavailable (%s) and runs the tasks scheduled meanwhile",
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
    const logged = (text: string): LogLine[] => log.filter(({ msg }) => msg.includes(text));
    await eventually(() => expect(logged("scheduled tasks are paused")).toHaveLength(1));
    expect(scheduler.status()).toEqual({ status: "down", message: "MongoDB: unreachable" });
    scheduler.schedule(onceTask, { n: 2 }, soon());
    const before = again.mock.calls.length;
    proxy.restore();
    await eventually(async () => {
      // At least once: a lock can expire while MongoDB hangs.
      expect(new Set(once.mock.calls.map(([{ n }]) => n))).toEqual(new Set([1, 2]));
      expect(again.mock.calls.length).toBeGreaterThan(before + 2);
      expect(await tasks.countDocuments({ name: onceTask.name })).toBe(0);
    });
    // One log line at the start and one at the end of the outage.
    await eventually(() => expect(logged("running again")).toHaveLength(1));
    expect(logged("scheduled tasks are paused")).toHaveLength(1);
  },
);

it("buffers a limited number of tasks while MongoDB is unavailable and logs the number of dropped ones", async () => {
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

it("stops while MongoDB is unavailable", async () => {
  const { url, addScheduler } = openSchedulerFixture();
  await using proxy = await startProxy(url);
  const { scheduler } = addScheduler({ url: proxy.url, times: { stopTimeoutMs: 200 } });
  scheduler.start([recurringHandler(recurringTask, 50, () => undefined)]);
  await eventually(() => expect(scheduler.status().status).toBe("up"));
  proxy.disconnect();
  scheduler.schedule(onceTask, { n: 1 }, soon());
  await eventually(() => expect(scheduler.status().status).toBe("down"));
  await scheduler[Symbol.asyncDispose]();
  expect(scheduler.status()).toEqual({ status: "down", message: "is stopping" });
});
