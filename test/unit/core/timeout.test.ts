import { expect, it } from "vitest";
import { untilAborted, withTimeout } from "../../../src/core/concurrency/timeout.ts";

const pending = new Promise<never>(() => undefined);

it("has the result or the error of work that is fast enough, and else undefined", async () => {
  expect(await withTimeout(Promise.resolve(1), 60_000)).toBe(1);
  await expect(withTimeout(Promise.reject(new Error("no")), 60_000)).rejects.toThrow("no");
  expect(await withTimeout(pending, 1)).toBeUndefined();
});

it("prefers work that finished while the process was busy for longer than the time limit", async () => {
  const { promise, resolve } = Promise.withResolvers<number>();
  const result = withTimeout(promise, 1);
  setTimeout(resolve, 1, 3);
  const startedMs = performance.now();
  while (performance.now() - startedMs < 10);
  expect(await result).toBe(3);
});

it("returns undefined at an abort, also an earlier one", async () => {
  const abort = new AbortController();
  const result = untilAborted(pending, abort.signal);
  abort.abort();
  expect(await result).toBeUndefined();
  expect(await untilAborted(pending, abort.signal)).toBeUndefined();
});

it("ignores the error of work after the abort", async () => {
  const { promise, reject } = Promise.withResolvers<never>();
  expect(await untilAborted(promise, AbortSignal.abort())).toBeUndefined();
  reject(new Error("late"));
  await expect(promise).rejects.toThrow("late");
});
