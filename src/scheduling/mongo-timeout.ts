/** A timeout for MongoDB operations. After a lost connection, an operation of the driver may never settle. */
import { setTimeout as pause } from "node:timers/promises";

const TIMEOUT_MS = 5_000;

/** Rejects after 5 s. The operation can still take effect. */
export async function withMongoTimeout<T>(operation: Promise<T>): Promise<T> {
  const settled = new AbortController();
  const timeout = pause(TIMEOUT_MS, undefined, { signal: settled.signal }).then(() => {
    throw new Error("MongoDB did not respond within 5 seconds.");
  });
  try {
    return await Promise.race([operation, timeout]);
  } finally {
    settled.abort();
    timeout.catch(() => undefined);
  }
}
