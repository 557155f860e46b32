/** Where the program reads the time, so that a test can set it. Rows take their times from PostgreSQL instead. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };
