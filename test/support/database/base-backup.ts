/** Takes a physical backup of a running PostgreSQL with the low-level backup functions; pg_basebackup is not available. */
import { execFile } from "node:child_process";
import { chown, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import type { Cluster } from "../../../src/dev/postgres/cluster.ts";

export interface BaseBackup {
  cluster: Pick<Cluster, "clusterDir" | "account">;
  /** Of a superuser; the server needs at least `wal_level=replica`. */
  url: string;
  /** The target folder; it must not exist. */
  folder: string;
}

/**
 * Copies the data folder, and adds the backup label and `signal` (`standby.signal` or `recovery.signal`). The write-ahead log
 * is left out, so the caller must configure where the copy gets it.
 */
export async function takeBaseBackup(
  { cluster, url, folder }: BaseBackup,
  signal: "standby.signal" | "recovery.signal",
): Promise<void> {
  // One session must start and stop the backup; Waymark's pool would close it, because it is idle during the copy.
  const session = new pg.Client(url);
  await session.connect();
  await session.query("select pg_backup_start('backup', fast := true)");
  await promisify(execFile)("cp", ["-a", cluster.clusterDir, folder]);
  const { rows } = await session.query<{ labelfile: string }>(
    "select labelfile from pg_backup_stop(wait_for_archive := false)",
  );
  await session.end();
  await rm(join(folder, "postmaster.pid"), { force: true });
  const log = join(folder, "pg_wal");
  for (const name of await readdir(log)) await rm(join(log, name), { recursive: true });
  const { account } = cluster;
  for (const [name, text] of [
    ["backup_label", rows[0]?.labelfile ?? ""],
    [signal, ""],
  ] as const) {
    await writeFile(join(folder, name), text);
    if (account) await chown(join(folder, name), account.uid, account.gid);
  }
}
