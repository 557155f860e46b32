/** The clock that services read, so that tests can set the time. Times in database rows come from PostgreSQL's clock. */
export interface Clock {
  /** Wall-clock time in milliseconds since 1970. It can jump forwards and backwards when the system clock is set. */
  now(): number;
  /** Monotonic time in milliseconds from an arbitrary start, for durations within this process. */
  elapsed(): number;
}

export const systemClock: Clock = { now: Date.now, elapsed: performance.now.bind(performance) };
