/** Noticing a PostgreSQL that neither answers nor closes its connections, as a network that swallows packets makes it look. */
import type { Pool, PoolClient } from "pg";

const CHECK_INTERVAL_MS = 1_000;

export interface StallWatchdog extends Disposable {
  /** A connection in use is asked something more: it has the whole time again. */
  touch(client: PoolClient): void;
}

/**
 * Ends each connection that is in use and was asked more than `limitMs` ago; its statement fails then. One look at all of
 * them instead of a timer for each statement (`query_timeout` of `pg`), whose closures outlive their statement: rows and
 * results piled up until the next full collection, half of the memory and a fifth of the CPU of a list.
 */
export function closeStalledConnections(pool: Pool, limitMs: number): StallWatchdog {
  const lastActiveAtMs = new Map<PoolClient, number>();
  const touch = (client: PoolClient): unknown => lastActiveAtMs.set(client, performance.now());
  pool.on("acquire", touch);
  pool.on("release", (_error, client) => lastActiveAtMs.delete(client));

  const closeStalled = (): void => {
    const latestMs = performance.now() - limitMs;
    for (const [client, atMs] of lastActiveAtMs) if (atMs < latestMs) void client.end();
  };
  const timer = setInterval(closeStalled, CHECK_INTERVAL_MS);
  timer.unref();

  return { touch, [Symbol.dispose]: () => clearInterval(timer) };
}
