/** Connects to the PostgreSQL server of a cluster and starts it if needed. */
import { rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import pg from "pg";
import { StartupError } from "../../platform/errors.ts";
import { superuser, type Cluster } from "./cluster.ts";
import { isFree } from "../free-port.ts";
import { startPostmaster } from "./postmaster.ts";
import {
  isStale,
  isPostmasterOf,
  readLastPort,
  readPostmasterPid,
  removeStale,
  type PostmasterPid,
} from "./postmaster-pid.ts";
import type { StartupWait } from "../startup-wait.ts";
import { systemCode } from "../system-errors.ts";
import { temporaryPath } from "../temporary-files.ts";

export interface Attachment {
  readonly client: pg.Client;
  /** Resolves once the connection has ended. */
  readonly ended: Promise<void>;
  readonly postmaster: PostmasterPid;
}

export interface AttachOptions {
  /** Port to start the server on, if its URL is already in use; 0 to use the previous port, or a free one. */
  readonly port: number;
  readonly flags: readonly string[];
}

export const databaseName = "waymark";

const startingOrStopping = "PostgreSQL is starting or stopping, which takes longer after a crash.";
/** Messages by SQLSTATE of connection errors that are worth a retry. */
const transientErrors: Readonly<Record<string, string>> = {
  "57P01": startingOrStopping,
  "57P02": startingOrStopping,
  "57P03": startingOrStopping,
  "53300": "All connections of PostgreSQL are in use.",
  "3D000": "Another Waymark process is creating the database.",
  "55006": "Another Waymark process is creating the database.",
};
const retryDelayMs = 20;
/** How long to wait for a killed server's port: its child processes hold it briefly, and other processes know its URL. */
const portRetryMs = 5_000;
const wrongPassword = "28P01";
const noSuchDatabase = "3D000";
const alreadyCreated = new Set(["42P04", "23505"]);

export async function attachPostgres(
  cluster: Cluster,
  options: AttachOptions,
  wait: StartupWait,
): Promise<Attachment> {
  const { clusterDir } = cluster;
  const isPortFixed = options.port !== 0;
  let takenSinceMs: number | null = null;
  for (;;) {
    const postmaster = await readPostmasterPid(clusterDir);
    if (postmaster !== null) {
      const attachment = await joinPostmaster(postmaster, cluster, wait);
      if (attachment !== null) return attachment;
      continue;
    }
    const port = isPortFixed ? options.port : await readLastPort(clusterDir);
    // Check only once: other processes that check listen on the port briefly, so a second result could differ.
    if (port === 0 || (await isFree(port))) {
      takenSinceMs = null;
      await startPostmaster(cluster, { ...options, port }, wait);
      continue;
    }
    takenSinceMs ??= performance.now();
    if (isPortFixed || performance.now() - takenSinceMs < portRetryMs)
      await wait.pauseOrFail(`Port ${port}, which PostgreSQL used before, is in use.`, retryDelayMs);
    else await startPostmaster(cluster, { ...options, port: 0 }, wait);
  }
}

/** Returns null if the caller should retry: after a pause, or after a stale postmaster.pid was removed. */
async function joinPostmaster(
  postmaster: PostmasterPid,
  cluster: Cluster,
  wait: StartupWait,
): Promise<Attachment | null> {
  if (await isStale(cluster.clusterDir, postmaster)) {
    await removeStalePid(postmaster, cluster, wait);
    return null;
  }
  if (postmaster.pid > 0) return connectTo(postmaster, cluster, wait);
  await wait.pauseOrFail("Another process is starting PostgreSQL.", retryDelayMs);
  return null;
}

async function removeStalePid(
  postmaster: PostmasterPid,
  { clusterDir }: Cluster,
  wait: StartupWait,
): Promise<void> {
  if (await removeStale(clusterDir, postmaster)) return;
  await wait.pauseOrFail("Another process is cleaning up after a killed PostgreSQL.", retryDelayMs);
}

async function connectTo(
  postmaster: PostmasterPid,
  cluster: Cluster,
  wait: StartupWait,
): Promise<Attachment | null> {
  try {
    return await openAttachment(postmaster, cluster);
  } catch (error) {
    const reason =
      transientErrors[systemCode(error) ?? ""] ?? (await classifyRefusal(postmaster, cluster, error));
    if (reason === null) await removeStalePid(postmaster, cluster, wait);
    else await wait.pauseOrFail(reason, retryDelayMs);
    return null;
  }
}

async function openAttachment(postmaster: PostmasterPid, cluster: Cluster): Promise<Attachment> {
  const client = await connectToDatabase(cluster, postmaster.port);
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  client.once("end", end);
  try {
    if (!(await servesCluster(client, cluster.clusterDir)))
      throw new Error("The server uses another data directory");
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
  return { client, ended, postmaster };
}

/**
 * Classifies a connection error although the process exists. Returns a reason to wait if it is our postmaster, or null if
 * not: the process ID was reused, or this folder is a copy. Throws StartupError if our postmaster rejects the login.
 */
async function classifyRefusal(
  postmaster: PostmasterPid,
  cluster: Cluster,
  error: unknown,
): Promise<string | null> {
  const { clusterDir, dataDir } = cluster;
  if (!(await isPostmasterOf(clusterDir, postmaster.pid))) return null;
  if (!(error instanceof pg.DatabaseError)) {
    return `PostgreSQL (process ${postmaster.pid}) uses ${clusterDir} but does not respond: ${String(error)}.`;
  }
  throw new StartupError(
    `PostgreSQL (process ${postmaster.pid}) rejects Waymark's connection: ${error.message}.`,
    error.code === wrongPassword
      ? `Restore ${join(dataDir, "postgres-password")} from a backup, or set WAYMARK_DATA_DIR to a new folder.`
      : `Fix that error; ${cluster.logFile} may contain more details.`,
    error,
  );
}

async function connectToDatabase(cluster: Cluster, port: number): Promise<pg.Client> {
  try {
    return await connect(cluster, port, databaseName);
  } catch (error) {
    if (systemCode(error) !== noSuchDatabase) throw error;
    await createDatabase(cluster, port);
    return connect(cluster, port, databaseName);
  }
}

async function connect(cluster: Cluster, port: number, database: string): Promise<pg.Client> {
  const client = new pg.Client({
    host: "127.0.0.1",
    port,
    user: superuser,
    password: cluster.password,
    database,
    ssl: false,
    application_name: `waymark:${process.pid}`,
    connectionTimeoutMillis: 5_000,
    query_timeout: 60_000,
  });
  // The "end" event is handled instead; an unhandled "error" event would end the process.
  client.on("error", () => undefined);
  await client.connect();
  return client;
}

/**
 * True if the server's data directory is `clusterDir`: checks that the server sees a file created there. The paths are not
 * enough, because the copy of a running cluster contains the original's process ID, port and password.
 */
async function servesCluster(client: pg.Client, clusterDir: string): Promise<boolean> {
  const probe = temporaryPath(join(clusterDir, "probe"));
  await writeFile(probe, "", { flag: "wx" });
  try {
    const { rows } = await client.query<{ seen: boolean }>(
      "select (pg_stat_file($1, true)).size is not null as seen",
      [basename(probe)],
    );
    return rows[0]?.seen === true;
  } finally {
    await rm(probe, { force: true });
  }
}

async function createDatabase(cluster: Cluster, port: number): Promise<void> {
  const client = await connect(cluster, port, "postgres");
  try {
    await client.query(`create database ${databaseName}`);
  } catch (error) {
    if (!alreadyCreated.has(systemCode(error) ?? "")) throw error;
  } finally {
    await client.end();
  }
}
