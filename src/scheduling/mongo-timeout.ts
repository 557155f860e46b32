/** A timeout for MongoDB operations. After a lost connection, an operation of the driver may never settle. */
import { withTimeout } from "../core/concurrency/timeout.ts";

const TIMEOUT_MS = 5_000;

/** Rejects after 5 s. The operation can still take effect. */
export function withMongoTimeout<T>(operation: Promise<T>): Promise<T> {
  return withTimeout(operation, TIMEOUT_MS, (): never => {
    throw new Error("MongoDB did not respond within 5 seconds.");
  });
}
