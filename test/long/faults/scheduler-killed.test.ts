import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished, vi } from "vitest";
import { taskHandler } from "../../../src/scheduling/task.ts";
import { eventually } from "../../support/eventually.ts";
import { openSchedulerFixture } from "../../support/scheduler.fixture.ts";
import { RECURRING_NAME, onceTask, recurring } from "../../support/scheduler-tasks.ts";

const program = fileURLToPath(new URL("../../support/scheduler-process.ts", import.meta.url));

interface SchedulingProcess {
  /** Output lines: executed tasks and log messages. */
  readonly lines: () => string[];
  readonly kill: (signal: NodeJS.Signals) => void;
  /** Requests a graceful stop. */
  readonly stop: () => void;
  readonly ended: Promise<number | string>;
}

function startProcess(url: string, lockLifetimeMs: number, mode: "hang" | "run"): SchedulingProcess {
  const child = spawn(process.execPath, [program, url, String(lockLifetimeMs), mode], {
    stdio: ["pipe", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output += text));
  return {
    lines: () => output.split("\n").filter((line) => line !== ""),
    kill: (signal) => void child.kill(signal),
    stop: () => void child.stdin.end(),
    ended: once(child, "close").then(([code, signal]) => (code ?? signal) as number | string),
  };
}

it("runs the unfinished tasks of a killed process after their locks expire", async () => {
  const { url, tasks, addScheduler } = openSchedulerFixture();
  const lockLifetimeMs = 500;
  const killed = startProcess(url, lockLifetimeMs, "hang");
  const { scheduler } = addScheduler();
  scheduler.schedule(onceTask, { n: 1 }, new Date());
  await eventually(() => {
    expect(killed.lines()).toContain('{"ran":"test.once","n":1}');
    expect(killed.lines()).toContain('{"ran":"test.again"}');
  });
  killed.kill("SIGKILL");
  expect(await killed.ended).toBe("SIGKILL");
  expect(await tasks.countDocuments({ lockedAt: { $ne: null } })).toBe(2);
  const ran = vi.fn<(payload: { n: number }) => void>();
  const ranAgain = vi.fn<() => void>();
  scheduler.start([taskHandler(onceTask, ran, { lockLifetimeMs }), recurring(100, ranAgain, lockLifetimeMs)]);
  await eventually(() => {
    expect(ran.mock.calls).toEqual([[{ n: 1 }]]);
    expect(ranAgain.mock.calls.length).toBeGreaterThan(2);
  });
  await eventually(async () => expect(await tasks.countDocuments({ name: onceTask.name })).toBe(0));
});

it("continues after a suspension longer than its lock lifetime", async () => {
  const { url, addScheduler } = openSchedulerFixture();
  const lockLifetimeMs = 300;
  const suspended = startProcess(url, lockLifetimeMs, "run");
  const runs = (): number => suspended.lines().filter((line) => line.includes(RECURRING_NAME)).length;
  // Repeat, because it holds a task at the moment of suspension only by chance.
  for (let round = 0; round < 6; round += 1) {
    const before = runs();
    await eventually(() => expect(runs()).toBeGreaterThan(before + 1));
    suspended.kill("SIGSTOP");
    const other = addScheduler();
    const work = vi.fn<() => void>();
    other.scheduler.start([recurring(100, work, lockLifetimeMs)]);
    await eventually(() => expect(work.mock.calls.length).toBeGreaterThan(4));
    await other.scheduler[Symbol.asyncDispose]();
    suspended.kill("SIGCONT");
  }
  const before = runs();
  await eventually(() => expect(runs()).toBeGreaterThan(before + 2));
});
