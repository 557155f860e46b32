/** A token bucket: so many a second, so many at once. It reads no clock; its caller passes the time. */

/** `perSecond` tokens flow into a bucket that holds `burst`. */
export interface TokenRate {
  perSecond: number;
  burst: number;
}

export interface TokenBucket {
  /** Takes `count` tokens if that many are there, and otherwise none. */
  take(nowMs: number, count?: number): boolean;
  /** What is there now, as a fraction. */
  available(nowMs: number): number;
  /** Milliseconds until `count` tokens are there; 0 when they are, Infinity when the bucket never holds that many. */
  msUntil(count: number, nowMs: number): number;
  /** From now on another rate; what is in the bucket stays, as far as it fits. */
  setRate(rate: TokenRate): void;
}

/** A full bucket. */
export function createTokenBucket(initialRate: TokenRate, startMs: number): TokenBucket {
  let { perSecond, burst } = initialRate;
  let tokens = burst;
  let refilledAtMs = startMs;

  const refill = (nowMs: number): void => {
    // A clock that is set back gives nothing away.
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
