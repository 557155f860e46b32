/** A token bucket. The caller passes the time; the bucket reads no clock. */

/** A bucket of `burst` tokens refilled with `perSecond` tokens a second. */
export interface TokenRate {
  perSecond: number;
  burst: number;
}

export interface TokenBucket {
  /** Takes `count` tokens (default 1) and returns true, or takes none and returns false if there are fewer. */
  take(nowMs: number, count?: number): boolean;
  /** Tokens in the bucket, fractions included. */
  available(nowMs: number): number;
  /** Milliseconds until the bucket holds `count` tokens: 0 if it does now, Infinity if `count` exceeds `burst`. */
  msUntil(count: number, nowMs: number): number;
  /** Changes the rate. Tokens above the new `burst` are lost. */
  setRate(rate: TokenRate): void;
}

/** Creates a full bucket. */
export function createTokenBucket(initialRate: TokenRate, startMs: number): TokenBucket {
  let { perSecond, burst } = initialRate;
  let tokens = burst;
  let refilledAtMs = startMs;

  const refill = (nowMs: number): void => {
    // A clock that is set back adds no tokens.
    tokens = Math.min(burst, tokens + (Math.max(0, nowMs - refilledAtMs) / 1000) * perSecond);
    refilledAtMs = nowMs;
  };

  return {
    take(nowMs, count = 1) {
      refill(nowMs);
      if (tokens < count) return false;
      tokens -= count;
      return true;
    },
    available(nowMs) {
      refill(nowMs);
      return tokens;
    },
    msUntil(count, nowMs) {
      refill(nowMs);
      if (tokens >= count) return 0;
      return count > burst ? Number.POSITIVE_INFINITY : ((count - tokens) / perSecond) * 1000;
    },
    setRate(rate) {
      ({ perSecond, burst } = rate);
      tokens = Math.min(burst, tokens);
    },
  };
}
