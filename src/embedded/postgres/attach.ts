/** Connects to the running server of a cluster, starting it first where it does not run. */
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
  /** Resolves once the connection has ended, whoever ended it. */
  readonly ended: Promise<void>;
  readonly postmaster: PostmasterPid;
}

export interface AttachOptions {
  /** Where the server has to listen if it is started, since we hold its address; 0: where the last one did, else anywhere. */
  readonly port: number;
  readonly flags: readonly string[];
}

export const databaseName = "waymark";

const startingOrStopping =
  "PostgreSQL is starting or stopping; after a crash it recovers what was committed.";
/** Refusals that pass by themselves. */
const transientErrors: Readonly<Record<string, string>> = {
  "57P01": startingOrStopping,
  "57P02": startingOrStopping,
  "57P03": startingOrStopping,
  "53300": "All connections of PostgreSQL are in use.",
  "3D000": "Another Waymark is creating the database.",
  "55006": "Another Waymark is creating the database.",
};
const retryDelayMs = 20;
/** Others may hold the address of a server that was killed, and what it leaves behind keeps its port for a moment. */
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
    // One look decides: whoever else looks listens there for a moment, so that a second may say otherwise.
    if (port === 0 || (await isFree(port))) {
      takenSinceMs = null;
      await startPostmaster(cluster, { ...options, port }, wait);
      continue;
    }
    takenSinceMs ??= performance.now();
    if (isPortFixed || performance.now() - takenSinceMs < portRetryMs)
      await wait.pauseOrFail(`Port ${port}, where PostgreSQL answered, is taken.`, retryDelayMs);
    else await startPostmaster(cluster, { ...options, port: 0 }, wait);
  }
}

/** Null where the caller should look again: after a pause, or after a leftover was taken away. */
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
  await wait.pauseOrFail("Another process starts PostgreSQL.", retryDelayMs);
  return null;
}

async function removeStalePid(
  postmaster: PostmasterPid,
  { clusterDir }: Cluster,
  wait: StartupWait,
): Promise<void> {
  if (await removeStale(clusterDir, postmaster)) return;
  await wait.pauseOrFail("Another process tidies up after a PostgreSQL that was killed.", retryDelayMs);
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
    if (!(await servesCluster(client, cluster.clusterDir))) throw new Error("It serves another folder");
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
  return { client, ended, postmaster };
}

/**
 * The process lives but does not serve us: it is our postmaster at a bad moment (the reason to wait), or no postmaster
 * of ours (null): its number was given to another process, or this folder is a copy.
 */
async function classifyRefusal(
  postmaster: PostmasterPid,
  cluster: Cluster,
  error: unknown,
): Promise<string | null> {
  const { clusterDir, dataDir } = cluster;
  if (!(await isPostmasterOf(clusterDir, postmaster.pid))) return null;
  if (!(error instanceof pg.DatabaseError)) {
    return `PostgreSQL (process ${postmaster.pid}) holds ${clusterDir} and does not answer: ${String(error)}.`;
  }
  throw new StartupError(
    `PostgreSQL (process ${postmaster.pid}) refuses Waymark: ${error.message}.`,
    error.code === wrongPassword
      ? `Restore ${join(dataDir, "postgres-password")} from a backup, or set WAYMARK_DATA_DIR to a new folder.`
      : `Mend what it names; ${cluster.logFile} may say more.`,
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
  // Its end is what we act on; without a listener an error would end the process.
  client.on("error", () => undefined);
  await client.connect();
  return client;
}

/**
 * Whether this server's folder is that one, whatever either calls it: a file laid there is seen by the server. A copy of
 * a data folder in use names the original's process and port, and has its password.
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
