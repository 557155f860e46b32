/** Finds the postmaster of a cluster, and connects to it to create its database and to learn whether it can be used. */
import { rm, stat } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { withTimeout } from "../../core/concurrency/timeout.ts";
import { StartupError } from "../../core/errors.ts";
import { MINUTE_MS } from "../../core/time.ts";
import { readIfPresent, readOrCreateKey } from "../data-folder.ts";
import { readCommandLine } from "../processes.ts";
import { NotYet } from "../retry.ts";
import { superuser, type ClusterPaths } from "./cluster.ts";

const databaseName = "waymark";
const closeTimeoutMs = 1_000;
const staleAfterMs = 5_000;
const wrongPassword = "28P01";
/** SQLSTATEs that are worth a retry: a start or stop, no free connection, and a database that the owner is about to create. */
const transientCodes = /^(57P0[123]|53300|3D000)$/;

/** Reads `postmaster.pid`, which a crash leaves stale. `pid` is 0 if PostgreSQL is about to write it or a power cut truncated it. */
export async function readPostmasterPid(
  clusterDir: string,
): Promise<{ pid: number; port: number; ready: boolean } | null> {
  const text = await readIfPresent(join(clusterDir, "postmaster.pid"));
  if (text === null) return null;
  // Lines: process id, folder, start time, port, socket folder, address, shared memory, state.
  const lines = text.split("\n");
  return { pid: Number(lines[0]), port: Number(lines[3] ?? 0), ready: lines[7]?.trim() === "ready" };
}

/** Returns the port of this folder's previous server, from `postmaster.opts`; 0 if unknown. */
export async function readLastPort(clusterDir: string): Promise<number> {
  const text = await readIfPresent(join(clusterDir, "postmaster.opts"));
  const [, folder, port] = /"-D" "(.+)" "-p" "(\d+)"/.exec(text ?? "") ?? [];
  // A copied folder contains the original's file, with another path.
  return folder === clusterDir ? Number(port) : 0;
}

/**
 * Returns the process ID of this cluster's postmaster, judged by its command line; null if none runs. Removes the file that a
 * killed server or the copy of a cluster in use has, because PostgreSQL would refuse to start if its process ID was reused.
 */
export async function findPostmaster(clusterDir: string): Promise<number | null> {
  const pid = (await readPostmasterPid(clusterDir))?.pid;
  if (pid === undefined) return null;
  if (pid > 0 && (await readCommandLine(pid)).includes(` -D ${clusterDir} -p `)) return pid;
  const path = join(clusterDir, "postmaster.pid");
  const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Date.now() }));
  const isStale = pid > 0 || Date.now() - mtimeMs > staleAfterMs;
  // A server whose starter was killed can replace the file meanwhile.
  if (isStale && (await readPostmasterPid(clusterDir))?.pid === pid) await rm(path, { force: true });
  return null;
}

/** Returns the URL of the server's database, once it can be used. Only the owner creates it. Throws NotYet or StartupError. */
export async function connectToPostmaster(paths: ClusterPaths, isOwner: boolean): Promise<URL> {
  const postmaster = await readPostmasterPid(paths.clusterDir);
  if (postmaster?.ready !== true)
    throw new NotYet("PostgreSQL is starting or stopping, which takes longer after a crash.");
  const url = new URL(`postgres://${superuser}@127.0.0.1:${postmaster.port}/${databaseName}`);
  url.password = await readOrCreateKey(paths.passwordFile);
  try {
    await (isOwner ? createDatabase(url) : withClient(url.href, (client) => client.query("select")));
    return url;
  } catch (error) {
    const code = error instanceof pg.DatabaseError ? (error.code ?? "") : null;
    const message = error instanceof Error ? error.message : String(error);
    const server = `PostgreSQL (process ${postmaster.pid}), which uses ${paths.clusterDir},`;
    if (code === null || transientCodes.test(code))
      throw new NotYet(`${server} does not respond: ${message}.`);
    throw new StartupError(
      `${server} rejects Waymark's connection: ${message}.`,
      code === wrongPassword
        ? `Restore ${paths.passwordFile} from a backup, or set WAYMARK_DATA_DIR to a new folder.`
        : `Fix that error; ${paths.logFile} may contain more details.`,
      error,
    );
  }
}

async function createDatabase(url: URL): Promise<void> {
  await withClient(Object.assign(new URL(url), { pathname: "/postgres" }).href, async (client) => {
    const { rowCount } = await client.query("select from pg_database where datname = $1", [databaseName]);
    if (rowCount === 0) await client.query(`create database ${databaseName}`);
  });
}

async function withClient(url: string, use: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const timeouts = { connectionTimeoutMillis: 5_000, query_timeout: MINUTE_MS };
  const client = new pg.Client({ connectionString: url, ssl: false, ...timeouts });
  // The failure of a statement is handled; an unhandled "error" event would end the process.
  client.on("error", () => undefined);
  await client.connect();
  try {
    await use(client);
  } finally {
    // A server that hangs does not answer.
    await withTimeout(client.end(), closeTimeoutMs);
    client.connection.stream.destroy();
  }
}
