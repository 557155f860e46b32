/** Ending a statement whose answer nobody waits for any more. */
import { connect } from "node:net";
import type { Pool, PoolClient } from "pg";
import { isOutOfReach } from "./database-errors.ts";

/** What `pg` knows of the session at the other end, beside what its types say. */
interface Session {
  readonly host: string;
  readonly port: number;
  readonly processID: number;
  /** Without it PostgreSQL would not believe a request to cancel. */
  readonly secretKey: number;
}

/** The number that PostgreSQL's protocol gives to a request to cancel. */
const CANCEL_REQUEST = 80_877_102;
const CONNECT_TIMEOUT_MS = 3_000;

/**
 * Runs `work` on a connection of the pool. When `signal` aborts, waiting for a connection ends, and a statement that runs
 * is cancelled in PostgreSQL; its connection is not used again, so that a cancellation that comes late hits nobody else.
 */
export async function runUntilAborted<T>(
  pool: Pool,
  signal: AbortSignal,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const client = await acquire(pool, signal);
  let isSpoilt = false;
  const cancel = (): void => {
    isSpoilt = true;
    cancelStatement(client as PoolClient & Session);
  };
  signal.addEventListener("abort", cancel, { once: true });
  try {
    return await work(client);
  } catch (error) {
    isSpoilt ||= isOutOfReach(error);
    throw error;
  } finally {
    signal.removeEventListener("abort", cancel);
    client.release(isSpoilt);
  }
}

function acquire(pool: Pool, signal: AbortSignal): Promise<PoolClient> {
  const { promise, resolve, reject } = Promise.withResolvers<PoolClient>();
  const giveUp = (): void => reject(signal.reason as Error);
  signal.addEventListener("abort", giveUp, { once: true });
  pool.connect((error, client) => {
    signal.removeEventListener("abort", giveUp);
    if (!client) reject(error ?? new Error("The pool gave no connection"));
    else if (signal.aborted) client.release();
    else resolve(client);
  });
  return promise;
}

/**
 * By the protocol's own request, on a connection made for it: it waits for no other, and names the session by its secret,
 * which a proxy in between understands too. Where it does not arrive, the statement ends by its timeout.
 */
function cancelStatement({ host, port, processID, secretKey }: Session): void {
  const request = Buffer.alloc(16);
  [request.length, CANCEL_REQUEST, processID, secretKey].forEach((value, at) =>
    request.writeInt32BE(value, at * 4),
  );
  const socket = host.startsWith("/") ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
  socket.setTimeout(CONNECT_TIMEOUT_MS, () => socket.destroy());
  socket.on("error", () => undefined);
  socket.end(request);
}
