/** Where the program reads the time, so that a test can set it. Rows take their times from PostgreSQL instead. */
export interface Clock {
  /** Milliseconds since 1970: for what is told, and for what is kept. An operator, or NTP, may set it forwards and back. */
  now(): number;
  /** Milliseconds since some moment or other, that only go on: for how long something lasts in this process. */
  elapsed(): number;
}

export const systemClock: Clock = { now: () => Date.now(), elapsed: () => performance.now() };
