import { describe, expect, it } from "vitest";
import { TokenBucket } from "../../../src/core/concurrency/token-bucket.ts";

const startMs = 1_000_000;
const bucket = (): TokenBucket => new TokenBucket({ perSecond: 10, burst: 20 }, startMs);

describe("a token bucket", () => {
  it("starts full, and gives all requested tokens or none", () => {
    const one = bucket();
    expect(one.take(startMs, 15)).toBe(true);
    expect(one.take(startMs, 6)).toBe(false);
    expect(one.available(startMs)).toBe(5);
    expect(one.take(startMs, 5)).toBe(true);
    expect(one.take(startMs)).toBe(false);
  });

  it("refills at its rate up to its burst", () => {
    const one = bucket();
    one.take(startMs, 20);
    expect(one.available(startMs + 150)).toBe(1.5);
    expect(one.available(startMs + 60_000)).toBe(20);
  });

  it("returns the time until it holds a number of tokens", () => {
    const one = bucket();
    expect(one.msUntil(20, startMs)).toBe(0);
    one.take(startMs, 20);
    expect(one.msUntil(1, startMs)).toBe(100);
    expect(one.msUntil(20, startMs + 500)).toBe(1_500);
    expect(one.msUntil(21, startMs)).toBe(Number.POSITIVE_INFINITY);
    expect(one.take(startMs + 100)).toBe(true);
  });

  it("keeps its tokens up to the new burst when its rate changes", () => {
    const one = bucket();
    one.setRate({ perSecond: 1, burst: 5 });
    expect(one.available(startMs)).toBe(5);
    one.take(startMs, 5);
    one.setRate({ perSecond: 2, burst: 50 });
    expect(one.available(startMs + 1_000)).toBe(2);
  });

  it("adds no tokens when the clock is set back", () => {
    const one = bucket();
    one.take(startMs, 20);
    expect(one.available(startMs - 60_000)).toBe(0);
    expect(one.available(startMs - 59_900)).toBe(1);
  });
});
