/** The clock of the computer is set while jobs are scheduled by it: they go on, and nobody has to wait until it has caught up. */
import { afterEach, expect, it, vi } from "vitest";
import { handle, repeat } from "../../src/scheduling/task.ts";
import { eventually, openScheduling } from "../support/scheduling.ts";
import { againTask, onceTask } from "../support/scheduling-tasks.ts";
import { shiftDate } from "../support/shifted-date.ts";

const HOUR_MS = 3_600_000;
/** Everything is looked after at the start, and then not again in the time of a test. */
const times = { tendEveryMs: HOUR_MS };

afterEach(() => shiftDate(0));

// evidence: clock-repeating-tasks
it.each([
  ["back", -HOUR_MS],
  ["forwards", HOUR_MS],
])("set %s by an hour, and right again: what repeats goes on repeating", async (_, byMs) => {
  const { add } = openScheduling();
  const { scheduler, log } = add({ times });
  const again = vi.fn<() => void>();
  scheduler.start([repeat(againTask, 100, again)]);
  const goesOn = async (): Promise<void> => {
    const before = again.mock.calls.length;
    await eventually(() => expect(again.mock.calls.length).toBeGreaterThan(before + 3));
  };
  await goesOn();
  shiftDate(byMs);
  await goesOn();
  shiftDate(0);
  await goesOn();
  const told = log.filter(({ msg }) => msg.includes("the clock was set")).map(({ setByMs }) => setByMs);
  expect(told.map((ms) => Math.round(Number(ms) / HOUR_MS))).toEqual([byMs / HOUR_MS, -byMs / HOUR_MS]);
});

it("set forwards: what was to run once runs then, and once", async () => {
  const { jobs, add } = openScheduling();
  const { scheduler } = add({ times });
  const once = vi.fn<(payload: { n: number }) => void>();
  scheduler.start([handle(onceTask, once)]);
  scheduler.schedule(onceTask, { n: 1 }, new Date(Date.now() + HOUR_MS / 2));
  await eventually(async () => expect(await jobs.countDocuments({ name: onceTask.name })).toBe(1));
  shiftDate(HOUR_MS);
  await eventually(async () => {
    expect(once.mock.calls).toEqual([[{ n: 1 }]]);
    expect(await jobs.countDocuments({ name: onceTask.name })).toBe(0);
  });
});

// evidence: clock-back-dead-process-locks
it("set back after a process has died: what that one held is free when its locks run out, not an hour later", async () => {
  const { jobs, add } = openScheduling();
  const lockLifetimeMs = 500;
  const dead = add({ times });
  const held = Promise.withResolvers<void>();
  dead.scheduler.start([repeat(againTask, 100, () => held.promise)]);
  await eventually(async () => expect(await jobs.countDocuments({ lockedAt: { $ne: null } })).toBe(1));
  // As if it had died an hour ahead of the clock that there is now.
  dead.scheduler.stopTaking();
  await dead.mongo[Symbol.asyncDispose]();
  held.resolve();
  await jobs.updateMany({}, { $set: { lockedAt: new Date(Date.now() + HOUR_MS) } });

  const again = vi.fn<() => void>();
  add({ times: { ...times, lockLifetimeMs } }).scheduler.start([repeat(againTask, 100, again)]);
  await eventually(() => expect(again.mock.calls.length).toBeGreaterThan(2));
});
