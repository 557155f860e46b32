/** Changes of the computer's clock while tasks are scheduled. */
import { afterEach, expect, it, vi } from "vitest";
import { taskHandler } from "../../../src/scheduling/task.ts";
import { eventually } from "../../support/eventually.ts";
import { openSchedulerFixture } from "../../support/scheduler.fixture.ts";
import { onceTask, recurring } from "../../support/scheduler-tasks.ts";
import { setDateOffset } from "../../support/processes/fake-date.ts";

const HOUR_MS = 3_600_000;

afterEach(() => setDateOffset(0));

// evidence: clock-repeating-tasks
it.each([
  ["back", -HOUR_MS],
  ["forwards", HOUR_MS],
])("recurring tasks continue if the clock is set %s by an hour and back again", async (_, byMs) => {
  const { addScheduler } = openSchedulerFixture();
  const { scheduler } = addScheduler();
  const work = vi.fn<() => void>();
  scheduler.start([recurring(100, work)]);
  const expectMoreRuns = async (): Promise<void> => {
    const before = work.mock.calls.length;
    await eventually(() => expect(work.mock.calls.length).toBeGreaterThan(before + 3));
  };
  await expectMoreRuns();
  setDateOffset(byMs);
  await expectMoreRuns();
  setDateOffset(0);
  await expectMoreRuns();
});

it("a one-off task runs once if the clock is set past its due time", async () => {
  const { tasks, addScheduler } = openSchedulerFixture();
  const { scheduler } = addScheduler();
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
it("locks of a dead process expire on time if the clock is set back", async () => {
  const { tasks, addScheduler } = openSchedulerFixture();
  const dead = addScheduler({ times: { maintainEveryMs: HOUR_MS } });
  const blocked = Promise.withResolvers<void>();
  dead.scheduler.start([recurring(100, () => blocked.promise)]);
  await eventually(async () => expect(await tasks.countDocuments({ lockedAt: { $ne: null } })).toBe(1));
  // As if the process had died before the clock was set back by an hour.
  dead.scheduler.stopClaiming();
  await dead.mongo[Symbol.asyncDispose]();
  blocked.resolve();
  await tasks.updateMany({}, { $set: { lockedAt: new Date(Date.now() + HOUR_MS) } });

  const work = vi.fn<() => void>();
  addScheduler().scheduler.start([recurring(100, work, 500)]);
  await eventually(() => expect(work.mock.calls.length).toBeGreaterThan(2));
});
