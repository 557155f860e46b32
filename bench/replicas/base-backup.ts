/** A physical backup of a PostgreSQL that runs, by the low-level functions of its manual: no tool but `postgres` is there. */
import { execFile } from "node:child_process";
import { chown, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import type { Cluster } from "../../src/embedded/postgres/cluster.ts";

export interface BaseBackup {
  cluster: Pick<Cluster, "clusterDir" | "runAs">;
  /** The superuser's; `wal_level` is `replica` at least. */
  url: string;
  /** Where the copy goes; it is not there yet. */
  folder: string;
}

/**
 * Copies the files, and adds what tells PostgreSQL that they were copied while it ran, and `signal`: what it is to do with
 * them (`standby.signal`, `recovery.signal`). The log is left out: whoever starts the copy says where it is.
 */
export async function takeBaseBackup(
  { cluster, url, folder }: BaseBackup,
  signal: "standby.signal" | "recovery.signal",
): Promise<void> {
  // The same session has to begin and to end it, and Waymark's own end those that are silent for as long as a copy may take.
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
  const { account } = cluster.runAs;
  for (const [name, text] of [
    ["backup_label", rows[0]?.labelfile ?? ""],
    [signal, ""],
  ] as const) {
    await writeFile(join(folder, name), text);
    if (account) await chown(join(folder, name), account.uid, account.gid);
  }
}
