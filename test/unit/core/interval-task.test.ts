import { expect, it, onTestFinished, vi } from "vitest";
import { IDLE, startIntervalTask } from "../../../src/core/concurrency/interval-task.ts";
import { createLogger } from "../../../src/core/logger.ts";

it("work that is idle runs less often, up to every sixth interval", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const runsS: number[] = [];
  const startedMs = Date.now();
  const task = startIntervalTask("test", 1_000, createLogger("silent"), () => {
    runsS.push((Date.now() - startedMs) / 1_000);
    return Promise.resolve(IDLE);
  });
  await vi.advanceTimersByTimeAsync(35_000);
  expect(runsS).toEqual([1, 3, 6, 10, 15, 21, 27, 33]);
  await task[Symbol.asyncDispose]();
});
