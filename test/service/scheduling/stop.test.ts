import { describe, expect, it, vi } from "vitest";
import { taskHandler } from "../../../src/scheduling/task.ts";
import { eventually } from "../../support/eventually.ts";
import { createBlockedWork, openSchedulerFixture } from "../../support/scheduler.fixture.ts";
import { onceTask, recurring } from "../../support/scheduler-tasks.ts";

const soon = (): Date => new Date();
const HOUR_MS = 3_600_000;

describe("a stop", () => {
  it("waits only for running handlers and leaves no locks", async () => {
    const { tasks, addScheduler } = openSchedulerFixture();
    // With this timeout, a drain that always waits for it would outlast the test.
    const { scheduler } = addScheduler({ times: { stopTimeoutMs: HOUR_MS } });
    const once = createBlockedWork();
    const again = createBlockedWork();
    scheduler.start([taskHandler(onceTask, once.work), recurring(HOUR_MS, again.work)]);
    for (let n = 0; n < 60; n += 1) scheduler.schedule(onceTask, { n }, soon());
    await eventually(async () => {
      expect(once.work).toHaveBeenCalledTimes(20);
      expect(again.work).toHaveBeenCalledTimes(1);
      expect(await tasks.countDocuments({ lockedAt: { $ne: null } })).toBeGreaterThan(21);
    });
    const stopped = scheduler[Symbol.asyncDispose]();
    once.letReturn();
    again.letReturn();
    await stopped;
    expect(await tasks.countDocuments({ lockedAt: { $ne: null } })).toBe(0);
    // Another process runs the tasks that were locked but not started.
    const { work } = createBlockedWork();
    const left = await tasks.countDocuments({ name: onceTask.name });
    addScheduler().scheduler.start([taskHandler(onceTask, async () => void work())]);
    await eventually(() => expect(work).toHaveBeenCalledTimes(left));
  });

  it("releases the task of a handler that does not return, so that another process runs it", async () => {
    const { tasks, addScheduler } = openSchedulerFixture();
    const { scheduler } = addScheduler({ times: { stopTimeoutMs: 100 } });
    const hangs = createBlockedWork();
    scheduler.start([taskHandler(onceTask, hangs.work)]);
    scheduler.schedule(onceTask, { n: 1 }, soon());
    await eventually(() => expect(hangs.work).toHaveBeenCalledTimes(1));
    await scheduler[Symbol.asyncDispose]();
    const released = await tasks.findOne();
    expect(released).toMatchObject({ lockedAt: null, nextRunAt: expect.any(Date) });
    const { work, letReturn } = createBlockedWork();
    addScheduler().scheduler.start([taskHandler(onceTask, work)]);
    await eventually(() => expect(work).toHaveBeenCalledTimes(1));
    // Its result comes too late and is ignored.
    hangs.letReturn();
    await hangs.work.mock.results[0]!.value;
    expect(await tasks.findOne()).toMatchObject({
      lastModifiedBy: expect.not.stringContaining(released?.["lastModifiedBy"]),
      lockedAt: expect.any(Date),
    });
    letReturn();
    await eventually(async () => expect(await tasks.countDocuments()).toBe(0));
  });

  it("claims no tasks after stopClaiming and still writes scheduled ones", async () => {
    const { tasks, addScheduler } = openSchedulerFixture();
    const { scheduler } = addScheduler();
    const work = vi.fn<() => void>();
    scheduler.start([taskHandler(onceTask, work)]);
    scheduler.schedule(onceTask, { n: -1 }, soon());
    await eventually(() => expect(work).toHaveBeenCalledTimes(1));
    scheduler.stopClaiming();
    for (let n = 0; n < 1_200; n += 1) scheduler.schedule(onceTask, { n }, soon());
    await scheduler[Symbol.asyncDispose]();
    expect(work).toHaveBeenCalledTimes(1);
    expect(await tasks.countDocuments({ lockedAt: null })).toBe(1_200);
  });

  it("works at any moment during the start", async () => {
    const { tasks, addScheduler } = openSchedulerFixture();
    for (let turns = 0; turns < 15; turns += 1) {
      const { scheduler } = addScheduler();
      scheduler.start([recurring(10, () => undefined)]);
      for (let turn = 0; turn < turns * 4; turn += 1) await new Promise(setImmediate);
      await scheduler[Symbol.asyncDispose]();
    }
    const { work } = createBlockedWork();
    addScheduler().scheduler.start([recurring(10, async () => void work(), 100)]);
    await eventually(() => expect(work).toHaveBeenCalled());
    expect(await tasks.countDocuments()).toBe(1);
  });
});
