/** A bound on waiting for MongoDB: after its connections broke, an operation of the driver may never settle. */
import { setTimeout as pause } from "node:timers/promises";

const TIMEOUT_MS = 5_000;

/** Rejects where there is no answer in time; the operation may yet take effect. */
export async function withMongoTimeout<T>(operation: Promise<T>): Promise<T> {
  const settled = new AbortController();
  const timeout = pause(TIMEOUT_MS, undefined, { signal: settled.signal }).then(() => {
    throw new Error("MongoDB did not answer in time.");
  });
  try {
    return await Promise.race([operation, timeout]);
  } finally {
    settled.abort();
    timeout.catch(() => undefined);
  }
}
