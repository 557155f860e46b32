import { expect, it, onTestFinished, vi } from "vitest";
import { singleFlight } from "../../../src/core/concurrency/single-flight.ts";

/** A loader with its pending calls. */
function createCountedLoader() {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const calls: PromiseWithResolvers<number>[] = [];
  const load = singleFlight(() => {
    const call = Promise.withResolvers<number>();
    calls.push(call);
    return call.promise;
  }, 250);
  return { load, calls };
}

it("caches a result for its TTL, counted from when the call ended", async () => {
  const { load, calls } = createCountedLoader();
  const first = load();
  vi.advanceTimersByTime(1_000);
  calls[0]?.resolve(1);
  await first;
  vi.advanceTimersByTime(249);
  expect(await load()).toBe(1);
  vi.advanceTimersByTime(1);
  void load();
  expect(calls).toHaveLength(2);
});

it("rejects all sharing callers with an error, and does not cache it", async () => {
  const { load, calls } = createCountedLoader();
  const results = [load(), load()];
  calls[0]?.reject(new Error("unavailable"));
  for (const result of results) await expect(result).rejects.toThrow("unavailable");
  void load();
  expect(calls).toHaveLength(2);
});
