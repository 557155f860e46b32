import { expect, it } from "vitest";
import { untilAborted, withTimeout } from "../../../src/core/concurrency/timeout.ts";

const pending = new Promise<never>(() => undefined);
const fail = (): never => {
  throw new Error("too late");
};

it("has the result or the error of work that is fast enough, and else those of onTimeout", async () => {
  expect(await withTimeout(Promise.resolve(1), 60_000, fail)).toBe(1);
  await expect(withTimeout(Promise.reject(new Error("no")), 60_000, fail)).rejects.toThrow("no");
  expect(await withTimeout(pending, 1, () => 2)).toBe(2);
  await expect(withTimeout(pending, 1, fail)).rejects.toThrow("too late");
});

it("prefers work that finished while the process was busy for longer than the time limit", async () => {
  const { promise, resolve } = Promise.withResolvers<number>();
  const result = withTimeout(promise, 1, fail);
  setTimeout(resolve, 1, 3);
  const startedMs = performance.now();
  while (performance.now() - startedMs < 10);
  expect(await result).toBe(3);
});

it("returns the result of onAbort at an abort, also an earlier one", async () => {
  const abort = new AbortController();
  const result = untilAborted(pending, abort.signal, () => "aborted");
  abort.abort();
  expect(await result).toBe("aborted");
  expect(await untilAborted(pending, abort.signal, () => "aborted")).toBe("aborted");
});

it("ignores the error of work after the abort", async () => {
  const { promise, reject } = Promise.withResolvers<never>();
  expect(await untilAborted(promise, AbortSignal.abort(), () => "aborted")).toBe("aborted");
  reject(new Error("late"));
  await expect(promise).rejects.toThrow("late");
});
