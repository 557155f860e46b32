import type { Document, Sort } from "mongodb";
import { describe, expect, it, vi } from "vitest";
import { recurringHandler, taskHandler, TASKS_COLLECTION } from "../../../src/scheduling/task.ts";
import { eventually } from "../../support/eventually.ts";
import { createBlockedWork, openSchedulerFixture } from "../../support/scheduler.fixture.ts";
import { RECURRING_NAME, onceTask, recurring } from "../../support/scheduler-tasks.ts";

interface Look {
  query: Document;
  sort: Sort;
}

const soon = (): Date => new Date();
const tomorrow = (): Date => new Date(Date.now() + 86_400_000);

describe("a one-off task", () => {
  it("runs with its payload when due and is then deleted", async () => {
    const { tasks, addScheduler } = openSchedulerFixture();
    const { scheduler } = addScheduler();
    const work = vi.fn<(payload: { n: number }) => void>();
    scheduler.start([taskHandler(onceTask, work)]);
    scheduler.schedule(onceTask, { n: 1 }, soon());
    scheduler.schedule(onceTask, { n: 2 }, tomorrow());
    await eventually(async () => {
      expect(work).toHaveBeenCalled();
      expect(await tasks.distinct("data.n")).toEqual([2]);
    });
    expect(work.mock.calls).toEqual([[{ n: 1 }]]);
  });

  it("runs promptly in the process that scheduled it between two polls", async () => {
    const { addScheduler } = openSchedulerFixture();
    const { scheduler } = addScheduler({ times: { processEveryMs: 60_000 } });
    const work = vi.fn<(payload: { n: number }) => void>();
    scheduler.start([taskHandler(onceTask, work)]);
    for (const n of [1, 2]) {
      scheduler.schedule(onceTask, { n }, soon());
      await eventually(() => expect(work).toHaveBeenLastCalledWith({ n }));
    }
  });

  it("is stored once with its first due time, even if a process schedules it repeatedly", async () => {
    const { tasks, addScheduler } = openSchedulerFixture();
    const at = tomorrow();
    const { scheduler, mongo } = addScheduler();
    await mongo.waitUntilUp();
    for (let n = 0; n < 100; n += 1) {
      scheduler.schedule(onceTask, { n }, at);
      scheduler.schedule(onceTask, { n }, new Date(at.getTime() + n));
    }
    // A stop waits for what is being written, but not for the first connection.
    await expect.poll(() => tasks.countDocuments()).toBeGreaterThan(0);
    await scheduler[Symbol.asyncDispose]();
    expect(await tasks.countDocuments()).toBe(100);
    expect(await tasks.distinct("nextRunAt")).toEqual([at]);
  });

  it("is rejected if it is scheduled with an invalid payload", () => {
    const { scheduler } = openSchedulerFixture().addScheduler();
    expect(() => scheduler.schedule(onceTask, { n: 1.5 }, soon())).toThrow(/expected int/);
    expect(() => scheduler.schedule(onceTask, { n: 1, url: "https://" } as never, soon())).toThrow(/url/);
  });

  // evidence: task-invalid-payload-removed
  it("is logged and deleted if its stored payload is invalid or its handler fails", async () => {
    const { tasks, addScheduler } = openSchedulerFixture();
    const { scheduler, log } = addScheduler();
    const work = vi.fn<(payload: { n: number }) => void>(() => {
      throw new Error("It cannot be done.");
    });
    await tasks.insertOne({ name: onceTask.name, data: { m: 1 }, type: "normal", nextRunAt: soon() });
    scheduler.start([taskHandler(onceTask, work)]);
    scheduler.schedule(onceTask, { n: 2 }, soon());
    await eventually(async () => expect(await tasks.countDocuments()).toBe(0));
    expect(work.mock.calls).toEqual([[{ n: 2 }]]);
    const failures = log.filter(({ level }) => level === "error").map(({ task, error }) => [task, error]);
    expect(failures).toHaveLength(2);
    expect(failures).toContainEqual([onceTask.name, expect.stringMatching(/Unrecognized key/)]);
    expect(failures).toContainEqual([onceTask.name, "It cannot be done."]);
  });
});

describe("a recurring task", () => {
  it("is stored once and runs once per interval across all processes", async () => {
    const { tasks, url, addScheduler } = openSchedulerFixture();
    const everyMs = 3_600_000;
    const work = vi.fn<() => void>();
    const polls: number[] = [];
    const start = async (process: number): Promise<void> => {
      polls[process] = 0;
      const { scheduler, mongo } = addScheduler({ url: `${url}&monitorCommands=true` });
      const { client } = await mongo.waitUntilUp();
      client.on("commandStarted", ({ commandName }) => {
        if (commandName === "distinct") polls[process]! += 1;
      });
      scheduler.start([recurring(everyMs, work)]);
    };
    const allHavePolled = async (): Promise<void> => {
      const before = [...polls];
      await eventually(() => {
        for (const [process, count] of polls.entries()) expect(count).toBeGreaterThan(before[process]! + 2);
      });
    };
    const startedMs = Date.now();
    for (let process = 0; process < 4; process += 1) await start(process);
    await eventually(() => expect(work).toHaveBeenCalledTimes(1));
    await start(4);
    await allHavePolled();
    expect(work).toHaveBeenCalledTimes(1);
    const [task, ...others] = await tasks.find().toArray();
    expect(others).toEqual([]);
    expect(task).toMatchObject({ name: RECURRING_NAME, type: "single", repeatInterval: everyMs });
    // A process that starts makes the next run at most one interval away from its own start.
    expect(task!["nextRunAt"].getTime()).toBeGreaterThanOrEqual(startedMs + everyMs);
    expect(task!["nextRunAt"] - task!["lastRunAt"]).toBeLessThanOrEqual(everyMs);

    // As if the interval had passed.
    await tasks.updateOne({}, { $set: { nextRunAt: soon() } });
    await eventually(() => expect(work).toHaveBeenCalledTimes(2));
    await allHavePolled();
    expect(work).toHaveBeenCalledTimes(2);
  });

  it("adopts the interval of a new release immediately if it is shorter", async () => {
    const { tasks, addScheduler } = openSchedulerFixture();
    const work = vi.fn<() => void>();
    const { scheduler: former } = addScheduler();
    former.start([recurring(3_600_000, work)]);
    await eventually(() => expect(work).toHaveBeenCalledTimes(1));
    await former[Symbol.asyncDispose]();
    addScheduler().scheduler.start([recurring(100, work)]);
    await eventually(() => expect(work.mock.calls.length).toBeGreaterThan(3));
    expect(await tasks.distinct("repeatInterval")).toEqual([100]);
  });

  it("continues after a failure, which is logged", async () => {
    const { addScheduler } = openSchedulerFixture();
    const { scheduler, log } = addScheduler();
    const work = vi.fn<() => void>(() => {
      throw new Error("PostgreSQL is away.");
    });
    scheduler.start([recurring(50, work)]);
    await eventually(() => expect(work.mock.calls.length).toBeGreaterThan(2));
    expect(log).toContainEqual(
      expect.objectContaining({ task: RECURRING_NAME, error: "PostgreSQL is away." }),
    );
  });

  it("is restored if it was deleted or has no next run", async () => {
    const { tasks, addScheduler } = openSchedulerFixture();
    const { scheduler } = addScheduler();
    const work = vi.fn<() => void>();
    scheduler.start([recurring(60_000, work)]);
    await eventually(() => expect(work).toHaveBeenCalledTimes(1));
    await tasks.deleteMany();
    await eventually(() => expect(work).toHaveBeenCalledTimes(2));
    await eventually(async () => expect(await tasks.countDocuments({ lockedAt: null })).toBe(1));
    await tasks.updateOne({}, { $set: { nextRunAt: null } });
    await eventually(() => expect(work).toHaveBeenCalledTimes(3));
  });
});

describe("several processes", () => {
  it("share tasks, and each task runs once", async () => {
    const { tasks, addScheduler } = openSchedulerFixture();
    const runs: number[] = [];
    const both = Promise.withResolvers<void>();
    const busy = new Set<number>();
    const start = (process: number): void =>
      addScheduler().scheduler.start([
        taskHandler(onceTask, async ({ n }) => {
          runs.push(n);
          busy.add(process);
          // Each handler waits until both processes have started one.
          if (busy.size === 2) both.resolve();
          await both.promise;
        }),
      ]);
    const { scheduler } = addScheduler();
    // More than one process locks.
    const all = Array.from({ length: 130 }, (_, n) => n);
    for (const n of all) scheduler.schedule(onceTask, { n }, soon());
    start(1);
    start(2);
    await eventually(async () => {
      expect(runs.length).toBeGreaterThanOrEqual(all.length);
      expect(await tasks.countDocuments()).toBe(0);
    });
    expect(runs.toSorted((a, b) => a - b)).toEqual(all);
  });

  it("poll without reading tasks that are not due or all due ones", async () => {
    const { tasks, url, addScheduler } = openSchedulerFixture();
    const { scheduler, mongo } = addScheduler({ url: `${url}&monitorCommands=true` });
    const { client } = await mongo.waitUntilUp();
    const look = Promise.withResolvers<Look>();
    const poll = Promise.withResolvers<Document>();
    client.on("commandStarted", ({ commandName, command }) => {
      if (commandName === "distinct") poll.resolve(command);
      if (commandName === "findAndModify") look.resolve(command as Look);
    });
    const due = soon();
    for (let n = 0; n < 1_000; n += 1) scheduler.schedule(onceTask, { n }, n % 2 === 0 ? tomorrow() : due);
    await eventually(async () => expect(await tasks.countDocuments()).toBe(1_000));
    scheduler.start([taskHandler(onceTask, () => undefined)]);
    const { query, sort } = await look.promise;
    scheduler.stopClaiming();
    const { executionStats } = await tasks.find(query, { sort, limit: 1 }).explain("executionStats");
    const { key, query: pollQuery } = await poll.promise;
    const distinct = { distinct: TASKS_COLLECTION, key, query: pollQuery };
    const { executionStats: polled } = await client
      .db()
      .command({ explain: distinct, verbosity: "executionStats" });
    expect(polled).toMatchObject({ nReturned: 1, totalDocsExamined: 0 });
    expect(polled.totalKeysExamined).toBeLessThan(10);
    expect(executionStats.nReturned).toBe(1);
    expect(executionStats.totalDocsExamined).toBeLessThan(5);
    expect(executionStats.totalKeysExamined).toBeLessThan(10);
  });
});

it("a process without due tasks sends one command per poll for any number of handlers", async () => {
  const { url, addScheduler } = openSchedulerFixture();
  const { scheduler, mongo } = addScheduler({
    url: `${url}&monitorCommands=true`,
    times: { maintainEveryMs: 60_000 },
  });
  const { client } = await mongo.waitUntilUp();
  const names = ["a", "b", "c"].map((letter) => `test.${letter}`);
  const [ran, commands] = [new Set<string>(), [] as string[]];
  scheduler.start(names.map((name) => recurringHandler(name, 3_600_000, () => void ran.add(name))));
  await eventually(() => expect(ran.size).toBe(3));
  client.on("commandStarted", ({ commandName }) => commands.push(commandName));
  // Claims and their ends come first. On a busy machine one can still wait for a connection while later polls run.
  await eventually(() => expect(commands.slice(-6)).toEqual(Array<string>(6).fill("distinct")));
});

describe("a lock", () => {
  it("expires if its handler hangs, so that another process runs the task, and the first one can later", async () => {
    const { addScheduler } = openSchedulerFixture();
    const first = addScheduler();
    const hangs = createBlockedWork();
    first.scheduler.start([recurring(50, hangs.work, 200)]);
    await eventually(() => expect(hangs.work).toHaveBeenCalled());
    const other = addScheduler();
    const work = vi.fn<() => void>();
    other.scheduler.start([recurring(50, work, 200)]);
    await eventually(() => expect(work).toHaveBeenCalled());
    await eventually(() =>
      expect(first.log).toContainEqual(expect.objectContaining({ msg: "a scheduled task was interrupted" })),
    );
    hangs.letReturn();
    const before = work.mock.calls.length;
    await eventually(() => expect(work.mock.calls.length).toBeGreaterThan(before + 2));
    await other.scheduler[Symbol.asyncDispose]();
    const earlier = hangs.work.mock.calls.length;
    await eventually(() => expect(hangs.work.mock.calls.length).toBeGreaterThan(earlier + 2));
  });
});
