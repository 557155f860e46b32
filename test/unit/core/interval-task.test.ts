import { expect, it, onTestFinished, vi } from "vitest";
import { IDLE, startIntervalTask } from "../../../src/core/concurrency/interval-task.ts";
import { createLogger } from "../../../src/core/logger.ts";

it("work that is idle runs less often, up to every sixth interval, and at the next one after `resume`", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  let result: unknown = IDLE;
  const runsS: number[] = [];
  const startedMs = Date.now();
  const task = startIntervalTask("test", 1_000, createLogger("silent"), () => {
    runsS.push((Date.now() - startedMs) / 1_000);
    return Promise.resolve(result);
  });
  await vi.advanceTimersByTimeAsync(35_000);
  expect(runsS.splice(0)).toEqual([1, 3, 6, 10, 15, 21, 27, 33]);
  result = undefined;
  task.resume();
  await vi.advanceTimersByTimeAsync(3_000);
  await task[Symbol.asyncDispose]();
  await vi.advanceTimersByTimeAsync(7_000);
  expect(runsS).toEqual([36, 37, 38]);
});
