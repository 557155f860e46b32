/** Cancels a running statement when an AbortSignal aborts. */
import { connect } from "node:net";
import type { Pool, PoolClient } from "pg";
import { isConnectionError } from "./errors.ts";

/** Properties of `pg`'s client that its types leave out. */
interface BackendSession {
  readonly host: string;
  readonly port: number;
  readonly processID: number;
  /** PostgreSQL accepts a cancel request only with this key. */
  readonly secretKey: number;
}

/** The code of a CancelRequest message in PostgreSQL's protocol. */
const CANCEL_REQUEST_CODE = 80_877_102;
const CONNECT_TIMEOUT_MS = 3_000;

/**
 * Runs `work` on a connection of the pool. When `signal` aborts, it runs nothing, or cancels the running
 * statement. The connection is then closed, so that a late cancellation cannot hit another statement.
 */
export async function runAbortable<T>(
  pool: Pool,
  signal: AbortSignal,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const client = await pool.connect();
  if (signal.aborted) client.release();
  signal.throwIfAborted();
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

/**
 * Sends a CancelRequest on a new connection, so that it does not wait for the pool. Connection poolers forward it too. If it
 * gets lost, the statement ends at its timeout.
 */
function cancelStatement({ host, port, processID, secretKey }: BackendSession): void {
  const request = Buffer.alloc(16);
  [request.length, CANCEL_REQUEST_CODE, processID, secretKey].forEach((value, index) =>
    request.writeInt32BE(value, index * 4),
  );
  const socket = host.startsWith("/") ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
  socket.setTimeout(CONNECT_TIMEOUT_MS, () => socket.destroy());
  socket.on("error", () => undefined);
  socket.end(request);
}
