import { describe, expect, it, vi } from "vitest";
import { taskHandler, recurringHandler } from "../../src/scheduling/task.ts";
import { eventually, createBlockedWork, openSchedulerFixture } from "../support/scheduler.fixture.ts";
import { recurringTask, onceTask } from "../support/scheduler-tasks.ts";

const soon = (): Date => new Date();
const HOUR_MS = 3_600_000;

describe("a stop", () => {
  it("lets running handlers return, waits for no longer than that, and leaves nothing locked", async () => {
    const { tasks, addScheduler } = openSchedulerFixture();
    // A drain that waited for its time to be up would outlast the test.
    const { scheduler } = addScheduler({ times: { stopTimeoutMs: HOUR_MS, lockLifetimeMs: HOUR_MS } });
    const once = createBlockedWork();
    const again = createBlockedWork();
    scheduler.start([taskHandler(onceTask, once.work), recurringHandler(recurringTask, HOUR_MS, again.work)]);
    for (let n = 0; n < 200; n += 1) scheduler.schedule(onceTask, { n }, soon());
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
    // What was held and not begun is there for another.
    const { work } = createBlockedWork();
    const left = await tasks.countDocuments({ name: onceTask.name });
    addScheduler().scheduler.start([taskHandler(onceTask, async () => void work())]);
    await eventually(() => expect(work).toHaveBeenCalledTimes(left));
  });

  it("gives back the job of a handler that does not return, and another runs it", async () => {
    const { tasks, addScheduler } = openSchedulerFixture();
    const { scheduler } = addScheduler({ times: { stopTimeoutMs: 100, lockLifetimeMs: HOUR_MS } });
    const hangs = createBlockedWork();
    scheduler.start([taskHandler(onceTask, hangs.work)]);
    scheduler.schedule(onceTask, { n: 1 }, soon());
    await eventually(() => expect(hangs.work).toHaveBeenCalledTimes(1));
    await scheduler[Symbol.asyncDispose]();
    expect(await tasks.findOne()).toMatchObject({ lockedAt: null, nextRunAt: expect.any(Date) });
    const { work, letReturn } = createBlockedWork();
    addScheduler({ name: "second" }).scheduler.start([taskHandler(onceTask, work)]);
    await eventually(() => expect(work).toHaveBeenCalledTimes(1));
    // Its end comes too late to count.
    hangs.letReturn();
    await hangs.work.mock.results[0]!.value;
    expect(await tasks.findOne()).toMatchObject({ lastModifiedBy: "second", lockedAt: expect.any(Date) });
    letReturn();
    await eventually(async () => expect(await tasks.countDocuments()).toBe(0));
  });

  it("takes no more jobs from when it is announced, and writes what was scheduled", async () => {
    const { tasks, addScheduler } = openSchedulerFixture();
    const { scheduler } = addScheduler();
    const work = vi.fn<() => void>();
    scheduler.start([taskHandler(onceTask, work)]);
    await eventually(() => expect(scheduler.status()).toEqual({ status: "up" }));
    scheduler.stopClaiming();
    expect(scheduler.status()).toEqual({ status: "down", message: "is stopping" });
    for (let n = 0; n < 2_500; n += 1) scheduler.schedule(onceTask, { n }, soon());
    await scheduler[Symbol.asyncDispose]();
    expect(work).not.toHaveBeenCalled();
    expect(await tasks.countDocuments({ lockedAt: null })).toBe(2_500);
    // Too late, and no error.
    scheduler.schedule(onceTask, { n: -1 }, soon());
  });

  it("gives back also what it was about to lock", async () => {
    const { tasks, addScheduler } = openSchedulerFixture();
    for (let round = 0; round < 5; round += 1) {
      // Locked one after the other, long before their time.
      const { scheduler, mongo } = addScheduler({
        times: { processEveryMs: HOUR_MS, lockLifetimeMs: HOUR_MS },
      });
      await mongo.waitUntilUp();
      const later = new Date(Date.now() + HOUR_MS / 2);
      for (let n = 0; n < 100; n += 1) scheduler.schedule(onceTask, { n }, later);
      await eventually(async () => expect(await tasks.countDocuments()).toBe(100));
      scheduler.start([taskHandler(onceTask, () => undefined)]);
      await eventually(async () => {
        expect(await tasks.countDocuments({ lockedAt: { $ne: null } })).toBeGreaterThan(0);
      });
      await scheduler[Symbol.asyncDispose]();
      await mongo[Symbol.asyncDispose]();
      expect(await tasks.countDocuments({ lockedAt: { $ne: null } })).toBe(0);
    }
  });

  it("works at any moment of the start", async () => {
    const { tasks, addScheduler } = openSchedulerFixture();
    for (let turns = 0; turns < 15; turns += 1) {
      const { scheduler } = addScheduler();
      scheduler.start([recurringHandler(recurringTask, 10, () => undefined)]);
      for (let turn = 0; turn < turns * 4; turn += 1) await new Promise(setImmediate);
      await scheduler[Symbol.asyncDispose]();
      expect(await tasks.countDocuments({ lockedAt: { $ne: null } })).toBe(0);
    }
  });
});
