/** Ending a statement whose answer nobody waits for any more. */
import { connect } from "node:net";
import type { Pool, PoolClient } from "pg";
import { isConnectionError } from "./errors.ts";

/** What `pg` knows of the session at the other end, beside what its types say. */
interface BackendSession {
  readonly host: string;
  readonly port: number;
  readonly processID: number;
  /** Without it PostgreSQL would not believe a request to cancel. */
  readonly secretKey: number;
}

/** The number that PostgreSQL's protocol gives to a request to cancel. */
const CANCEL_REQUEST_CODE = 80_877_102;
const CONNECT_TIMEOUT_MS = 3_000;

/**
 * Runs `work` on a connection of the pool. When `signal` aborts, waiting for a connection ends, and a statement that runs
 * is cancelled in PostgreSQL; its connection is not used again, so that a cancellation that comes late hits nobody else.
 */
export async function runAbortable<T>(
  pool: Pool,
  signal: AbortSignal,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const client = await acquireClient(pool, signal);
  let isTainted = false;
  const cancel = (): void => {
    isTainted = true;
    cancelStatement(client as PoolClient & BackendSession);
  };
  signal.addEventListener("abort", cancel, { once: true });
  try {
    return await work(client);
  } catch (error) {
    isTainted ||= isConnectionError(error);
    throw error;
  } finally {
    signal.removeEventListener("abort", cancel);
    client.release(isTainted);
  }
}

function acquireClient(pool: Pool, signal: AbortSignal): Promise<PoolClient> {
  const { promise, resolve, reject } = Promise.withResolvers<PoolClient>();
  const onAbort = (): void => reject(signal.reason as Error);
  signal.addEventListener("abort", onAbort, { once: true });
  pool.connect((error, client) => {
    signal.removeEventListener("abort", onAbort);
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
function cancelStatement({ host, port, processID, secretKey }: BackendSession): void {
  const request = Buffer.alloc(16);
  [request.length, CANCEL_REQUEST_CODE, processID, secretKey].forEach((value, at) =>
    request.writeInt32BE(value, at * 4),
  );
  const socket = host.startsWith("/") ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
  socket.setTimeout(CONNECT_TIMEOUT_MS, () => socket.destroy());
  socket.on("error", () => undefined);
  socket.end(request);
}
