/** Detects a PostgreSQL that neither answers nor closes its connections, for example behind a network that drops packets. */
import type { Pool, PoolClient } from "pg";

const CHECK_INTERVAL_MS = 1_000;

export interface StallWatchdog extends Disposable {
  /** Restarts the time limit of a connection in use; call it before each statement. */
  touch(client: PoolClient): void;
}

/**
 * Closes each connection whose statement runs longer than `limitMs`; the statement fails. One timer checks all connections:
 * `pg`'s own `query_timeout` keeps rows in memory until the next full garbage collection (half of a list's memory, a fifth of
 * its CPU).
 */
export function closeStalledConnections(pool: Pool, limitMs: number): StallWatchdog {
  const lastActiveAtMs = new Map<PoolClient, number>();
  const touch = (client: PoolClient): unknown => lastActiveAtMs.set(client, performance.now());
  pool.on("acquire", touch);
  pool.on("release", (_error, client) => lastActiveAtMs.delete(client));

  const closeStalled = (): void => {
    const oldestAllowedMs = performance.now() - limitMs;
    for (const [client, atMs] of lastActiveAtMs) if (atMs < oldestAllowedMs) void client.end();
  };
  const timer = setInterval(closeStalled, CHECK_INTERVAL_MS);
  timer.unref();

  return { touch, [Symbol.dispose]: () => clearInterval(timer) };
}
