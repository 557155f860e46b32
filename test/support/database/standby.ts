/** A streaming standby of an embedded PostgreSQL, made from a copy of its files; pg_basebackup is not available. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { rm, mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { spawnAs } from "../../../src/dev/owned-server.ts";
import { prepareCluster } from "../../../src/dev/postgres/cluster.ts";
import { entities } from "../../../src/app/entities.ts";
import { openDatabase, type Database } from "../../../src/core/postgres/database.ts";
import { isContentionError } from "../../../src/core/postgres/errors.ts";
import { sql, type Sql } from "../../../src/core/postgres/sql.ts";
import { findFreePort } from "../../../bench/cluster/process.ts";
import { eventually, eventuallyTruthy } from "../eventually.ts";
import { takeBaseBackup } from "./base-backup.ts";
import { tmpdir } from "node:os";
import { openEmbeddedPostgres } from "../../../src/dev/postgres/embedded-postgres.ts";
import { migrateDatabase } from "../../../src/core/postgres/migrate.ts";

export type Standby = Awaited<ReturnType<typeof startStandby>>;

/** Additional arguments that the primary must be started with. */
const primaryFlags = toFlags(["wal_level=replica", "max_wal_senders=8", "wal_keep_size=128MB"]);

function toFlags(settings: readonly string[]): string[] {
  return settings.flatMap((setting) => ["-c", setting]);
}

async function startStandby(dataDir: string, primaryUrl: string, flags: readonly string[]) {
  await using opened = new AsyncDisposableStack();
  const cluster = await prepareCluster(dataDir, () => undefined);
  const primary = opened.use(await openDatabase({ url: primaryUrl, poolSize: 2, entities }));
  const port = await findFreePort();
  const folder = join(dataDir, `standby-${port}`);
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  await takeBaseBackup({ cluster, url: primaryUrl, folder }, "standby.signal");
  const follows = Object.entries(connectionParameters(primaryUrl)).map(([name, value]) => `${name}=${value}`);
  const settings = [
    `primary_conninfo=${follows.join(" ")}`,
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "max_wal_senders=8",
    "wal_retrieve_retry_interval=100ms",
  ];
  const args = ["-D", folder, "-p", String(port), ...toFlags(settings), ...flags];
  const server = spawnAs(cluster.account, cluster.postgres, args, { stdio: "ignore" });
  opened.defer(() => killServer(server));
  const url = Object.assign(new URL(primaryUrl), { port: String(port) }).href;
  const own = opened.use(await openDatabase({ url, poolSize: 2, entities }));
  await eventually(() => own.query(sql`select`));
  const resources = opened.move();
  return {
    url,
    /** Of its postmaster. */
    pid: server.pid ?? 0,
    ...createStandbyControls(own, primary),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

function connectionParameters(url: string): Record<string, string> {
  const { hostname, port, username, password } = new URL(url);
  return { host: hostname, port, user: username, password };
}

function createStandbyControls(standby: Database, primary: Database) {
  const holds = async (condition: Sql): Promise<boolean> => {
    try {
      const [row] = await standby.query<{ holds: boolean }>(sql`select ${condition} as holds`);
      return row?.holds === true;
    } catch (error) {
      // After a pause, replay cancels each statement that is in its way.
      if (isContentionError(error)) return false;
      throw error;
    }
  };
  return {
    /** Pauses replay: resolves once later commits are no longer visible here. */
    async pause() {
      await eventuallyTruthy(() => holds(sql`pg_wal_replay_pause()::text is not null`));
      await eventuallyTruthy(() => holds(sql`pg_get_wal_replay_pause_state() = 'paused'`));
    },
    async resume() {
      await eventuallyTruthy(() => holds(sql`pg_wal_replay_resume()::text is not null`));
    },
    /** Resolves once every commit up to now is replayed. */
    async catchUp() {
      // A commit flushes the log; without one, its end could stay in the primary's memory for seconds.
      await primary.query(sql`select pg_logical_emit_message(true, 'waymark', '')`);
      const [at] = await primary.query<{ place: string }>(
        sql`select pg_current_wal_flush_lsn()::text as place`,
      );
      await eventuallyTruthy(() => holds(sql`pg_last_wal_replay_lsn() >= ${at?.place}::pg_lsn`));
    },
    /** Turns it into an independent primary. */
    async promote() {
      await standby.query(sql`select pg_promote()`);
    },
  };
}

/** Stops the server immediately, without a checkpoint. */
async function killServer(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const ended = once(server, "exit");
  server.kill("SIGQUIT");
  await ended;
}

export type ReplicatedPostgres = Awaited<ReturnType<typeof startReplicatedPostgres>>;

/** Test data need not survive a crash. */
const NO_FSYNC_FLAGS = toFlags(["fsync=off"]);

export async function startReplicatedPostgres() {
  await using stack = new AsyncDisposableStack();
  const dataDir = await mkdtemp(join(tmpdir(), "waymark-standby-"));
  stack.defer(() => rm(dataDir, { recursive: true, force: true }));
  const postgresFlags = [...primaryFlags, ...NO_FSYNC_FLAGS];
  const { url } = stack.use(await openEmbeddedPostgres({ dataDir, exclusive: true, postgresFlags }));
  await migrateDatabase({ url, poolSize: 2, entities });
  const primary = stack.use(await openDatabase({ url, poolSize: 2, entities }));
  const resources = stack.move();
  return {
    /** URL of the migrated database. */
    url,
    primary,
    /** Starts a standby, which is stopped with the primary. `flags` are further arguments of `postgres`. */
    addStandby: async (flags: readonly string[] = []) =>
      resources.use(await startStandby(dataDir, url, [...NO_FSYNC_FLAGS, ...flags])),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
