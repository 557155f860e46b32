/** Noticing a PostgreSQL that neither answers nor closes its connections, as a network that swallows packets makes it look. */
import type { Pool, PoolClient } from "pg";

const LOOK_EVERY_MS = 1_000;

export interface SilenceWatch extends Disposable {
  /** A connection in use is asked something more: it has the whole time again. */
  askedAgain(client: PoolClient): void;
}

/**
 * Ends each connection that is in use and was asked more than `limitMs` ago; its statement fails then. One look at all of
 * them instead of a timer for each statement (`query_timeout` of `pg`), whose closures outlive their statement: rows and
 * results piled up until the next full collection, half of the memory and a fifth of the CPU of a list.
 */
export function endSilentConnections(pool: Pool, limitMs: number): SilenceWatch {
  const askedAtMs = new Map<PoolClient, number>();
  const asked = (client: PoolClient): unknown => askedAtMs.set(client, performance.now());
  pool.on("acquire", asked);
  pool.on("release", (_error, client) => askedAtMs.delete(client));

  const look = (): void => {
    const latestMs = performance.now() - limitMs;
    for (const [client, atMs] of askedAtMs) if (atMs < latestMs) void client.end();
  };
  const timer = setInterval(look, LOOK_EVERY_MS);
  timer.unref();

  return { askedAgain: asked, [Symbol.dispose]: () => clearInterval(timer) };
}
