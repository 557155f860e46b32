/**
 * The embedded PostgreSQL: one server for all processes that use a data folder. Each holds a shared advisory lock while
 * it does, and the last to let go stops the server.
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
  /** The server of this data folder, of which there is at most one; a command beside it is not exclusive. */
  readonly exclusive: boolean;
  /** Further arguments of `postgres`, used where this call starts it. */
  readonly postgresFlags?: readonly string[];
  /** Told what is being waited for, in sentences. */
  readonly onProgress?: (sentence: string) => void;
}

export interface EmbeddedPostgres {
  /** Good for as long as this is held; it contains the password. */
  readonly url: string;
  /** Lets go; stops the server when no other process of ours uses it. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Session locks, in the two-number form, which keeps them apart from the application's own. */
const lockClass = 0x57415900;
const referenceLock = 1;
const exclusiveLock = 2;

const startTimeoutMs = 60_000;
const restartTimeoutMs = 10_000;

/** A server that accepts connections, started or joined; StartupError where there can be none. */
export async function openEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const onProgress = options.onProgress ?? (() => undefined);
  const cluster = await prepareCluster(options.dataDir, onProgress).catch((error: unknown) => {
    throw folderError(options.dataDir, error);
  });
  const hint = `See ${cluster.logFile}; then try again.`;
  const flags = options.postgresFlags ?? [];
  const wait = startWait({ onProgress, timeoutMs: startTimeoutMs, hint });
  const attachment = await acquirePostgres({ cluster, wait, flags, port: 0, exclusive: options.exclusive });
  const keeper = keepAlive(cluster, attachment, () => {
    const patience = startWait({ onProgress, timeoutMs: restartTimeoutMs, hint });
    return acquirePostgres({
      cluster,
      wait: patience,
      flags,
      port: attachment.postmaster.port,
      exclusive: options.exclusive,
    });
  });
  return {
    url: `postgres://${superuser}:${cluster.password}@127.0.0.1:${attachment.postmaster.port}/${databaseName}`,
    [Symbol.asyncDispose]: () => keeper.letGo(),
  };
}

interface AcquireOptions {
  readonly cluster: Cluster;
  readonly wait: StartupWait;
  readonly flags: readonly string[];
  readonly port: number;
  readonly exclusive: boolean;
}

/** Attaches and locks. Whoever stops the server meanwhile ends our connection, and we begin again. */
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
    // What it was is being stopped, and what has been started in its place since is not ours to stop.
    await attachment.client.end().catch(() => undefined);
    await options.wait.pauseOrFail("PostgreSQL stopped while Waymark was joining it.");
  }
}

/** A stop ends the connections one by one: ours may get the lock of the one who stops it, a moment before its own end. */
async function isStillUp({ postmaster }: Attachment, { clusterDir }: Cluster): Promise<boolean> {
  const now = await readPostmasterPid(clusterDir);
  return now?.pid === postmaster.pid && now.ready;
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
        `The data folder ${cluster.dataDir} is already served by another Waymark (process ${pid}).`,
        "Stop that one first, or set WAYMARK_DATA_DIR to a folder of its own for this one.",
      );
    }
    // It was killed a moment ago, and PostgreSQL is about to notice.
    await wait.pauseOrFail("PostgreSQL has not yet noticed that the last server of this data folder ended.");
  }
}

/**
 * Keeps the locks until let go. A crash inside PostgreSQL drops them with every connection; they are taken again, the
 * server started again where it is gone, so that a command that leaves does not stop it under us.
 */
function keepAlive(
  cluster: Cluster,
  first: Attachment,
  reattach: () => Promise<Attachment>,
): { letGo(): Promise<void> } {
  let closing: Promise<void> | null = null;
  let current: Promise<Attachment | null> = Promise.resolve(first);

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
      // The connection was lost a moment ago: a last one makes sure that no server is left without a user.
      const last = await reattach().catch(() => null);
      if (last !== null) await releaseAndStop(last.client, cluster).catch(() => undefined);
    }
  };

  void watch(first);
  return { letGo: () => (closing ??= close()) };
}

/** Unlocks, and stops the server when no other process holds it; rejects where the connection is already lost. */
async function releaseAndStop(client: pg.Client, { clusterDir }: Cluster): Promise<void> {
  try {
    await client.query("select pg_advisory_unlock_all()");
    const { rows } = await client.query<{ unused: boolean }>(
      "select pg_try_advisory_lock($1, $2) as unused",
      [lockClass, referenceLock],
    );
    // A newcomer now waits for the lock in vain: the stop ends its connection, and it starts the server anew.
    if (rows[0]?.unused === true) await stopPostmaster(clusterDir);
  } finally {
    await client.end().catch(() => undefined);
  }
}
