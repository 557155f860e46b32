import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { TokenRate } from "../../../src/core/concurrency/token-bucket.ts";
import { createMemoryStore, type TakeResult } from "../../../src/rate-limits/store.ts";
import { createFakeClock, MINUTE_MS, type FakeClock } from "../../support/fake-clock.ts";

const limit: TokenRate = { perSecond: 2, burst: 4 };

function storeAt(startMs = 1_000_000): {
  clock: FakeClock;
  take: (bucket?: string, limit?: TokenRate) => TakeResult;
} {
  const clock = createFakeClock(startMs);
  const store = createMemoryStore(clock);
  return {
    clock,
    take: (bucket = "key:read", rateLimit = limit) =>
      (store.take([{ id: bucket, limit: rateLimit }], 1) as [TakeResult])[0],
  };
}

const times = (count: number, take: () => TakeResult): boolean[] =>
  Array.from({ length: count }, () => take().allowed);

describe("the in-memory token buckets", () => {
  it("are separate for each name", () => {
    const { take } = storeAt();
    times(4, () => take("one:read"));
    expect(take("one:read").allowed).toBe(false);
    expect(take("one:write").allowed).toBe(true);
    expect(take("other:read").allowed).toBe(true);
  });

  // evidence: clock-memory-rate-limits
  it.each([-60 * MINUTE_MS, 60 * MINUTE_MS])(
    "are not affected when the system clock jumps by %i ms",
    (jumpMs) => {
      const { clock, take } = storeAt();
      expect(take()).toEqual({ allowed: true, tokens: 3 });
      times(3, take);
      clock.jump(jumpMs);
      expect(take()).toEqual({ allowed: false, tokens: 0 });
      clock.advance(500);
      clock.jump(-jumpMs);
      expect(times(2, take)).toEqual([true, false]);
    },
  );

  it("are evicted only when full", () => {
    const { clock, take } = storeAt();
    const slow: TokenRate = { perSecond: 0.001, burst: 4 };
    times(4, () => take("slow", slow));
    times(4, () => take("quick"));
    clock.advance(2 * MINUTE_MS);
    take("other");
    expect(take("slow", slow).allowed).toBe(false);
    expect(times(5, () => take("quick"))).toEqual([true, true, true, true, false]);
  });

  it("allow at most the burst plus the refill, for any sequence of requests", () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 700 }), { maxLength: 60 }), (pauses) => {
        const { clock, take } = storeAt();
        let [passed, elapsedMs] = [0, 0];
        for (const pause of pauses) {
          clock.advance(pause);
          elapsedMs += pause;
          passed += take().allowed ? 1 : 0;
          expect(passed).toBeLessThanOrEqual(limit.burst + (elapsedMs / 1000) * limit.perSecond + 1e-6);
        }
      }),
    );
  });
});
