/** The clock of the computer is set while jobs are scheduled by it: they go on, and nobody has to wait until it has caught up. */
import { afterEach, expect, it, vi } from "vitest";
import { taskHandler, recurringHandler } from "../../src/scheduling/task.ts";
import { eventually, openSchedulerFixture } from "../support/scheduler.fixture.ts";
import { recurringTask, onceTask } from "../support/scheduler-tasks.ts";
import { setDateOffset } from "../support/processes/fake-date.ts";

const HOUR_MS = 3_600_000;
/** Everything is looked after at the start, and then not again in the time of a test. */
const times = { maintainEveryMs: HOUR_MS };

afterEach(() => setDateOffset(0));

// evidence: clock-repeating-tasks
it.each([
  ["back", -HOUR_MS],
  ["forwards", HOUR_MS],
])("set %s by an hour, and right again: what repeats goes on repeating", async (_, byMs) => {
  const { addScheduler } = openSchedulerFixture();
  const { scheduler, log } = addScheduler({ times });
  const again = vi.fn<() => void>();
  scheduler.start([recurringHandler(recurringTask, 100, again)]);
  const goesOn = async (): Promise<void> => {
    const before = again.mock.calls.length;
    await eventually(() => expect(again.mock.calls.length).toBeGreaterThan(before + 3));
  };
  await goesOn();
  setDateOffset(byMs);
  await goesOn();
  setDateOffset(0);
  await goesOn();
  const told = log.filter(({ msg }) => msg.includes("the clock was set")).map(({ jumpMs }) => jumpMs);
  expect(told.map((ms) => Math.round(Number(ms) / HOUR_MS))).toEqual([byMs / HOUR_MS, -byMs / HOUR_MS]);
});

it("set forwards: what was to run once runs then, and once", async () => {
  const { tasks, addScheduler } = openSchedulerFixture();
  const { scheduler } = addScheduler({ times });
  const once = vi.fn<(payload: { n: number }) => void>();
  scheduler.start([taskHandler(onceTask, once)]);
  scheduler.schedule(onceTask, { n: 1 }, new Date(Date.now() + HOUR_MS / 2));
  await eventually(async () => expect(await tasks.countDocuments({ name: onceTask.name })).toBe(1));
  setDateOffset(HOUR_MS);
  await eventually(async () => {
    expect(once.mock.calls).toEqual([[{ n: 1 }]]);
    expect(await tasks.countDocuments({ name: onceTask.name })).toBe(0);
  });
});

// evidence: clock-back-dead-process-locks
it("set back after a process has died: what that one held is free when its locks run out, not an hour later", async () => {
  const { tasks, addScheduler } = openSchedulerFixture();
  const lockLifetimeMs = 500;
  const dead = addScheduler({ times });
  const held = Promise.withResolvers<void>();
  dead.scheduler.start([recurringHandler(recurringTask, 100, () => held.promise)]);
  await eventually(async () => expect(await tasks.countDocuments({ lockedAt: { $ne: null } })).toBe(1));
  // As if it had died an hour ahead of the clock that there is now.
  dead.scheduler.stopClaiming();
  await dead.mongo[Symbol.asyncDispose]();
  held.resolve();
  await tasks.updateMany({}, { $set: { lockedAt: new Date(Date.now() + HOUR_MS) } });

  const again = vi.fn<() => void>();
  addScheduler({ times: { ...times, lockLifetimeMs } }).scheduler.start([
    recurringHandler(recurringTask, 100, again),
  ]);
  await eventually(() => expect(again.mock.calls.length).toBeGreaterThan(2));
});
