/** Creates the PostgreSQL cluster in the data folder if it does not exist. */
import { existsSync } from "node:fs";
import { chown, mkdir, open, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { StartupError } from "../../platform/errors.ts";
import { prepareDataFolder, readIfPresent, readOrCreateKey } from "../data-folder.ts";
import { accountHint, chooseRunAs, spawnAs, type RunAs } from "./account.ts";
import { findPostgresBinaries, type PostgresBinaries } from "./binaries.ts";
import { folderError, systemCode } from "../system-errors.ts";
import { removeAbandonedFiles, temporaryPath } from "../temporary-files.ts";

export interface Cluster {
  /** The data folder, absolute and without symbolic links. */
  readonly dataDir: string;
  readonly clusterDir: string;
  readonly logFile: string;
  readonly password: string;
  readonly binaries: PostgresBinaries;
  readonly runAs: RunAs;
}

export const superuser = "waymark";

const clusterDirOf = (dataDir: string): string => join(dataDir, "postgres");

/** True if the data folder has a cluster, also one of another version. */
export function hasCluster(dataDir: string): boolean {
  return existsSync(clusterDirOf(dataDir));
}

/** Returns the cluster of a data folder, ready to start; runs initdb if there is none. Throws StartupError. */
export async function prepareCluster(
  dataDirOption: string,
  onProgress: (sentence: string) => void,
): Promise<Cluster> {
  const binaries = await findPostgresBinaries();
  await prepareDataFolder(dataDirOption);
  const dataDir = await realpath(dataDirOption);
  const clusterDir = clusterDirOf(dataDir);
  const exists = await clusterExists(clusterDir, binaries);
  const cluster = {
    dataDir,
    clusterDir,
    logFile: join(dataDir, "postgres.log"),
    password: await readPassword(dataDir, exists),
    binaries,
    runAs: await chooseRunAs(dataDir, clusterDir, [binaries.postgres, binaries.initdb]),
  };
  await removeAbandonedFiles(dataDir);
  if (exists) await removeAbandonedFiles(clusterDir);
  else {
    onProgress(`Creating a PostgreSQL cluster in ${clusterDir}.`);
    await createCluster(cluster);
  }
  return cluster;
}

async function clusterExists(clusterDir: string, { majorVersion }: PostgresBinaries): Promise<boolean> {
  const path = join(clusterDir, "PG_VERSION");
  const version = await readIfPresent(path).catch((error: unknown) => {
    throw folderError(path, error);
  });
  if (version === null || version.trim() === majorVersion) return version !== null;
  throw new StartupError(
    `The data folder contains a PostgreSQL ${version.trim()} cluster, but this Waymark includes PostgreSQL ` +
      `${majorVersion}, which cannot read it: ${clusterDir}.`,
    `Set WAYMARK_DATA_DIR to a new folder. To keep the jobs, export them with the previous Waymark version and import them.`,
  );
}

async function readPassword(dataDir: string, isExisting: boolean): Promise<string> {
  const path = join(dataDir, "postgres-password");
  if (isExisting && (await stat(path).catch(() => null)) === null) {
    throw new StartupError(
      `The password of the PostgreSQL cluster is missing: ${path}.`,
      "Restore the file from a backup of the data folder, or set WAYMARK_DATA_DIR to a new folder.",
    );
  }
  return readOrCreateKey(path);
}

/** Creates the cluster in a temporary folder and renames it, so that it is never partial. */
async function createCluster(cluster: Cluster): Promise<void> {
  const workDir = temporaryPath(cluster.clusterDir);
  try {
    await mkdir(workDir, { mode: 0o700 });
    await runInitdb(cluster, workDir);
    await rename(join(workDir, "postgres"), cluster.clusterDir).catch((error: unknown) => {
      if (systemCode(error) !== "ENOTEMPTY" && systemCode(error) !== "EEXIST") throw error;
    });
    await syncFolder(cluster.dataDir);
  } finally {
    await rm(workDir, { recursive: true, force: true });
  }
  if (await clusterExists(cluster.clusterDir, cluster.binaries)) return;
  throw new StartupError(
    `The folder ${cluster.clusterDir} is neither empty nor a PostgreSQL cluster.`,
    "Move it elsewhere, or set WAYMARK_DATA_DIR to a new folder.",
  );
}

/**
 * The builtin C.UTF-8 locale sorts by code point and supports lower() and ILIKE for all scripts. Unlike a locale of the
 * operating system, it exists everywhere and never changes, so indexes stay valid.
 */
async function runInitdb(cluster: Cluster, workDir: string): Promise<void> {
  const { account } = cluster.runAs;
  const passwordFile = join(workDir, "password");
  const clusterDir = join(workDir, "postgres");
  await mkdir(clusterDir, { mode: 0o700 });
  await writeFile(passwordFile, cluster.password, { mode: 0o600 });
  if (account !== null) {
    await Promise.all(
      [workDir, passwordFile, clusterDir].map((path) => chown(path, account.uid, account.gid)),
    );
  }
  const args = [
    [
      "-D",
      clusterDir,
      "-U",
      superuser,
      `--pwfile=${passwordFile}`,
      "--auth=scram-sha-256",
      "--encoding=UTF8",
    ],
    ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--no-instructions"],
  ].flat();
  const failure = await runProcess(cluster, args);
  if (failure === null) return;
  throw new StartupError(
    `PostgreSQL could not create its cluster in ${cluster.dataDir}: ${failure}`,
    accountHint(cluster.runAs) ??
      "Fix the error that initdb reports, or set DATABASE_URL to your own PostgreSQL server.",
  );
}

/** Runs initdb. Returns null on success, otherwise its exit code and last 8 lines. */
async function runProcess({ binaries, runAs }: Cluster, args: readonly string[]): Promise<string | null> {
  const child = spawnAs(runAs, binaries.initdb, args, { stdio: ["ignore", "ignore", "pipe"] });
  const stderrText = child.stderr === null ? Promise.resolve("") : text(child.stderr);
  const failure = await new Promise<string | null>((resolve) => {
    child.once("error", (error) => resolve(String(error)));
    child.once("exit", (code, signal) => resolve(code === 0 ? null : `initdb exited with ${code ?? signal}`));
  });
  if (failure === null) return null;
  return `${failure}.\n${(await stderrText).trim().split("\n").slice(-8).join("\n")}`;
}

/** Syncs the folder, so that a rename in it survives a power cut. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
