import { expect, it } from "vitest";
import { singleFlight } from "../../../src/core/concurrency/single-flight.ts";

/** A loader with its pending calls and a clock that `advance` moves. */
function createCountedLoader(ttlMs: number) {
  const calls: PromiseWithResolvers<number>[] = [];
  let nowMs = 0;
  const load = singleFlight(
    () => {
      const call = Promise.withResolvers<number>();
      calls.push(call);
      return call.promise;
    },
    { ttlMs, nowMs: () => nowMs },
  );
  return { load, calls, advance: (ms: number) => void (nowMs += ms) };
}

it("caches a result for its TTL, counted from when the call ended", async () => {
  const { load, calls, advance } = createCountedLoader(250);
  const first = load();
  advance(1_000);
  calls[0]?.resolve(1);
  await first;
  advance(249);
  expect(await load()).toBe(1);
  advance(1);
  void load();
  expect(calls).toHaveLength(2);
});

it("rejects all sharing callers with an error, and does not cache it", async () => {
  const { load, calls } = createCountedLoader(250);
  const results = [load(), load()];
  calls[0]?.reject(new Error("unavailable"));
  for (const result of results) await expect(result).rejects.toThrow("unavailable");
  void load();
  expect(calls).toHaveLength(2);
});
