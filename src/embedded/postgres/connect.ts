/** Connects to the PostgreSQL server of a cluster, to create its database and to learn whether it can be used. */
import { join } from "node:path";
import pg from "pg";
import { withTimeout } from "../../platform/concurrency/timeout.ts";
import { StartupError } from "../../platform/errors.ts";
import { MINUTE_MS } from "../../platform/time.ts";
import { superuser, type Cluster } from "./cluster.ts";
import { readPostmasterPid, type PostmasterPid } from "./postmaster-pid.ts";
import type { StartupWait } from "../startup-wait.ts";

export const databaseName = "waymark";

const startingOrStopping = "PostgreSQL is starting or stopping, which takes longer after a crash.";
/** Messages by SQLSTATE of connection errors that are worth a retry. */
const transientErrors: Readonly<Record<string, string>> = {
  "57P01": startingOrStopping,
  "57P02": startingOrStopping,
  "57P03": startingOrStopping,
  "53300": "All connections of PostgreSQL are in use.",
};
const retryDelayMs = 20;
const closeTimeoutMs = 1_000;
const wrongPassword = "28P01";

/** Resolves to the server's port once it has the database; to null, after a pause, if it must be tried again. Throws StartupError. */
export async function connectToPostmaster(cluster: Cluster, wait: StartupWait): Promise<number | null> {
  const postmaster = await readPostmasterPid(cluster.clusterDir);
  if (postmaster?.ready !== true) {
    await wait.pauseOrFail(startingOrStopping);
    return null;
  }
  try {
    await ensureDatabase(cluster, postmaster.port);
    return postmaster.port;
  } catch (error) {
    await wait.pauseOrFail(reasonToRetry(cluster, postmaster, error), retryDelayMs);
    return null;
  }
}

/** Throws StartupError if a retry would fail too. */
function reasonToRetry({ clusterDir, dataDir, logFile }: Cluster, { pid }: PostmasterPid, error: unknown) {
  if (!(error instanceof pg.DatabaseError))
    return `PostgreSQL (process ${pid}) uses ${clusterDir} but does not respond: ${String(error)}.`;
  const reason = transientErrors[error.code ?? ""];
  if (reason !== undefined) return reason;
  throw new StartupError(
    `PostgreSQL (process ${pid}) rejects Waymark's connection: ${error.message}.`,
    error.code === wrongPassword
      ? `Restore ${join(dataDir, "postgres-password")} from a backup, or set WAYMARK_DATA_DIR to a new folder.`
      : `Fix that error; ${logFile} may contain more details.`,
    error,
  );
}

async function ensureDatabase(cluster: Cluster, port: number): Promise<void> {
  const client = new pg.Client({
    host: "127.0.0.1",
    port,
    user: superuser,
    password: cluster.password,
    database: "postgres",
    ssl: false,
    connectionTimeoutMillis: 5_000,
    query_timeout: MINUTE_MS,
  });
  // The failure of a statement is handled; an unhandled "error" event would end the process.
  client.on("error", () => undefined);
  await client.connect();
  try {
    const { rowCount } = await client.query("select from pg_database where datname = $1", [databaseName]);
    if (rowCount === 0) await client.query(`create database ${databaseName}`);
  } finally {
    // A server that hangs does not answer.
    await withTimeout(client.end(), closeTimeoutMs);
    client.connection.stream.destroy();
  }
}
