import { expect, it, vi } from "vitest";
import { taskHandler } from "../../../src/scheduling/task.ts";
import { startFaultProxy, type FaultProxy } from "../../support/database/fault-proxy.ts";
import { eventually } from "../../support/eventually.ts";
import { openSchedulerFixture, type LogLine } from "../../support/scheduler.fixture.ts";
import { onceTask, recurring } from "../../support/scheduler-tasks.ts";

const soon = (): Date => new Date();

/** Uses short timeouts, and a direct connection so that the driver cannot bypass the proxy. */
async function startProxy(url: string): Promise<FaultProxy> {
  const [address] = url.split("?");
  return await startFaultProxy(
    `${address}?directConnection=true&heartbeatFrequencyMS=500&connectTimeoutMS=500&serverSelectionTimeoutMS=500`,
  );
}

const logged = (log: LogLine[], text: string): LogLine[] => log.filter(({ msg }) => msg.includes(text));

it("logs that MongoDB is unavailable at the start and runs tasks when it is available", async () => {
  const { url, addScheduler } = openSchedulerFixture();
  await using proxy = await startProxy(url);
  proxy.disconnect();
  const { scheduler, log } = addScheduler({ url: proxy.url });
  const once = vi.fn<(payload: { n: number }) => void>();
  const again = vi.fn<() => void>();
  scheduler.start([taskHandler(onceTask, once), recurring(50, again)]);
  await eventually(() =>
    expect(logged(log, "scheduled tasks are paused")).toMatchObject([{ problem: "MongoDB: unreachable" }]),
  );
  proxy.restore();
  await eventually(() => {
    scheduler.schedule(onceTask, { n: 1 }, soon());
    expect(once).toHaveBeenCalledWith({ n: 1 });
    expect(again.mock.calls.length).toBeGreaterThan(2);
    expect(logged(log, "running again")).toHaveLength(1);
  });
});

it.each(["disconnect", "stall"] as const)(
  "recovers after MongoDB was unavailable (%s) and continues the recurring tasks",
  async (away) => {
    const { url, tasks, addScheduler } = openSchedulerFixture();
    await using proxy = await startProxy(url);
    const { scheduler, log } = addScheduler({ url: proxy.url });
    const once = vi.fn<(payload: { n: number }) => void>();
    const again = vi.fn<() => void>();
    scheduler.start([taskHandler(onceTask, once), recurring(50, again, 1_000)]);
    await eventually(() => expect(again.mock.calls.length).toBeGreaterThan(2));
    proxy[away]();
    await eventually(() => expect(logged(log, "scheduled tasks are paused")).toHaveLength(1));
    scheduler.schedule(onceTask, { n: 1 }, soon());
    const before = again.mock.calls.length;
    proxy.restore();
    await eventually(async () => {
      scheduler.schedule(onceTask, { n: 2 }, soon());
      expect(once).toHaveBeenCalledWith({ n: 2 });
      expect(again.mock.calls.length).toBeGreaterThan(before + 2);
      expect(await tasks.countDocuments({ name: onceTask.name })).toBe(0);
    });
    // One log line at the start and one at the end of the outage.
    await eventually(() => expect(logged(log, "running again")).toHaveLength(1));
    expect(logged(log, "scheduled tasks are paused")).toHaveLength(1);
  },
);

it("stops while MongoDB is unavailable", async () => {
  const { url, addScheduler } = openSchedulerFixture();
  await using proxy = await startProxy(url);
  const { scheduler, log } = addScheduler({ url: proxy.url, times: { stopTimeoutMs: 200 } });
  const work = vi.fn<() => void>();
  scheduler.start([recurring(50, work)]);
  await eventually(() => expect(work).toHaveBeenCalled());
  proxy.disconnect();
  scheduler.schedule(onceTask, { n: 1 }, soon());
  await eventually(() => expect(logged(log, "scheduled tasks are paused")).toHaveLength(1));
  await scheduler[Symbol.asyncDispose]();
});
