/** A token bucket. The caller passes the time; the bucket reads no clock. */

/** A bucket of `burst` tokens refilled with `perSecond` tokens a second. */
export interface TokenRate {
  perSecond: number;
  burst: number;
}

/** Starts full. */
export class TokenBucket {
  #rate: TokenRate;
  #tokens: number;
  #refilledAtMs: number;

  constructor(rate: TokenRate, startMs: number) {
    this.#rate = rate;
    this.#tokens = rate.burst;
    this.#refilledAtMs = startMs;
  }

  /** Takes `count` tokens and returns true, or takes none and returns false if there are fewer. */
  take(nowMs: number, count = 1): boolean {
    if (this.available(nowMs) < count) return false;
    this.#tokens -= count;
    return true;
  }

  /** Tokens in the bucket, fractions included. */
  available(nowMs: number): number {
    const { perSecond, burst } = this.#rate;
    // A clock that is set back adds no tokens.
    const elapsedMs = Math.max(0, nowMs - this.#refilledAtMs);
    this.#tokens = Math.min(burst, this.#tokens + (elapsedMs / 1000) * perSecond);
    this.#refilledAtMs = nowMs;
    return this.#tokens;
  }

  /** Milliseconds until the bucket holds `count` tokens: 0 if it does now, Infinity if `count` exceeds `burst`. */
  msUntil(count: number, nowMs: number): number {
    const missing = count - this.available(nowMs);
    if (missing <= 0) return 0;
    const { perSecond, burst } = this.#rate;
    return count > burst ? Number.POSITIVE_INFINITY : (missing / perSecond) * 1000;
  }

  /** Changes the rate. Tokens above the new `burst` are lost. */
  setRate(rate: TokenRate): void {
    this.#rate = rate;
    this.#tokens = Math.min(rate.burst, this.#tokens);
  }
}
