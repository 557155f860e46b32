/**
 * The embedded PostgreSQL: one server for all processes that use a data folder. Each process holds a shared advisory lock,
 * and the last to release it stops the server.
 */
import { setTimeout as pause } from "node:timers/promises";
import type pg from "pg";
import { StartupError } from "../../platform/errors.ts";
import { attachPostgres, databaseName, type Attachment } from "./attach.ts";
import { prepareCluster, superuser, type Cluster } from "./cluster.ts";
import { stopPostmaster } from "./postmaster.ts";
import { readPostmasterPid } from "./postmaster-pid.ts";
import { isRunning } from "../processes.ts";
import { startWait, type StartupWait } from "../startup-wait.ts";
import { folderError } from "../system-errors.ts";

export interface EmbeddedPostgresOptions {
  readonly dataDir: string;
  /** True for the Waymark server, of which a data folder allows only one; false for commands. */
  readonly exclusive: boolean;
  /** Additional arguments of `postgres`, used if this call starts it. */
  readonly postgresFlags?: readonly string[];
  /** Receives progress messages, one sentence each. */
  readonly onProgress?: (sentence: string) => void;
}

export interface EmbeddedPostgres {
  /** Connection string with password, valid until disposal. */
  readonly url: string;
  /** Releases the server, and stops it if no other process uses it. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Keys of session-level advisory locks; the two-key form does not collide with the application's one-key locks. */
const lockClass = 0x57415900;
const referenceLock = 1;
const exclusiveLock = 2;

const startTimeoutMs = 60_000;
const restartTimeoutMs = 10_000;

/** Starts or joins the server, and resolves once it accepts connections. Throws StartupError. */
export async function openEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const onProgress = options.onProgress ?? (() => undefined);
  const cluster = await prepareCluster(options.dataDir, onProgress).catch((error: unknown) => {
    throw folderError(options.dataDir, error);
  });
  const hint = `Check ${cluster.logFile}, then try again.`;
  const flags = options.postgresFlags ?? [];
  const wait = startWait({ onProgress, timeoutMs: startTimeoutMs, hint });
  const attachment = await acquirePostgres({ cluster, wait, flags, port: 0, exclusive: options.exclusive });
  const keeper = keepAlive(cluster, attachment, () => {
    const restartWait = startWait({ onProgress, timeoutMs: restartTimeoutMs, hint });
    return acquirePostgres({
      cluster,
      wait: restartWait,
      flags,
      port: attachment.postmaster.port,
      exclusive: options.exclusive,
    });
  });
  return {
    url: `postgres://${superuser}:${cluster.password}@127.0.0.1:${attachment.postmaster.port}/${databaseName}`,
    [Symbol.asyncDispose]: () => keeper.release(),
  };
}

interface AcquireOptions {
  readonly cluster: Cluster;
  readonly wait: StartupWait;
  readonly flags: readonly string[];
  readonly port: number;
  readonly exclusive: boolean;
}

/** Connects and takes the locks; starts over if another process stops the server meanwhile. */
async function acquirePostgres(options: AcquireOptions): Promise<Attachment> {
  for (;;) {
    const attachment = await attachPostgres(options.cluster, options, options.wait);
    try {
      await attachment.client.query("select pg_advisory_lock_shared($1, $2)", [lockClass, referenceLock]);
      if (options.exclusive) await lockExclusively(attachment.client, options);
      if (await isStillUp(attachment, options.cluster)) return attachment;
    } catch (error) {
      if (error instanceof StartupError) {
        await releaseAndStop(attachment.client, options.cluster).catch(() => undefined);
        throw error;
      }
    }
    // That server is stopping. Do not stop it here, because another process may have started a new one.
    await attachment.client.end().catch(() => undefined);
    await options.wait.pauseOrFail("PostgreSQL stopped while Waymark was connecting to it.");
  }
}

/** False if the server is stopping: a stop ends connections one by one, so ours may get a released lock before it ends. */
async function isStillUp({ postmaster }: Attachment, { clusterDir }: Cluster): Promise<boolean> {
  const current = await readPostmasterPid(clusterDir);
  return current?.pid === postmaster.pid && current.ready;
}

async function lockExclusively(client: pg.Client, { cluster, wait }: AcquireOptions): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ locked: boolean; holder: string | null }>(
      `select pg_try_advisory_lock($1, $2) as locked, (
         select application_name from pg_locks join pg_stat_activity using (pid)
         where locktype = 'advisory' and classid = $1::int::oid and objid = $2::int::oid and granted limit 1
       ) as holder`,
      [lockClass, exclusiveLock],
    );
    if (rows[0]?.locked === true) return;
    const pid = Number(rows[0]?.holder?.split(":")[1]);
    if (await isRunning(pid)) {
      throw new StartupError(
        `The data folder ${cluster.dataDir} is already in use by another Waymark server (process ${pid}).`,
        "Stop that server first, or set WAYMARK_DATA_DIR to another folder.",
      );
    }
    // The holder was killed, and PostgreSQL has not closed its connection yet.
    await wait.pauseOrFail("Waiting until PostgreSQL releases the lock of a killed Waymark server.");
  }
}

/**
 * Keeps the locks until release. A PostgreSQL crash closes all connections and so drops the locks; this takes them again
 * and restarts the server if needed, so that a command that ends does not stop it.
 */
function keepAlive(
  cluster: Cluster,
  initial: Attachment,
  reattach: () => Promise<Attachment>,
): { release(): Promise<void> } {
  let closing: Promise<void> | null = null;
  let current: Promise<Attachment | null> = Promise.resolve(initial);

  const watch = async ({ ended }: Attachment): Promise<void> => {
    await ended;
    if (closing === null) current = reattachUntilClosed();
  };
  const reattachUntilClosed = async (): Promise<Attachment | null> => {
    while (closing === null) {
      const next = await reattach().catch(() => null);
      if (next !== null) {
        void watch(next);
        return next;
      }
      await pause(1_000);
    }
    return null;
  };
  const close = async (): Promise<void> => {
    const attachment = await current;
    if (attachment === null) return;
    try {
      await releaseAndStop(attachment.client, cluster);
    } catch {
      // The connection was lost. Reconnect once to stop the server if no other process uses it.
      const last = await reattach().catch(() => null);
      if (last !== null) await releaseAndStop(last.client, cluster).catch(() => undefined);
    }
  };

  void watch(initial);
  return { release: () => (closing ??= close()) };
}

/** Releases the locks and stops the server if no other process uses it. Rejects if the connection is lost. */
async function releaseAndStop(client: pg.Client, { clusterDir }: Cluster): Promise<void> {
  try {
    await client.query("select pg_advisory_unlock_all()");
    const { rows } = await client.query<{ unused: boolean }>(
      "select pg_try_advisory_lock($1, $2) as unused",
      [lockClass, referenceLock],
    );
    // A process that is connecting now loses its connection with the stop, and then starts the server again.
    if (rows[0]?.unused === true) await stopPostmaster(clusterDir);
  } finally {
    await client.end().catch(() => undefined);
  }
}
