/** Creates the PostgreSQL cluster in the data folder if it does not exist. */
import { existsSync } from "node:fs";
import { chown, mkdir, open, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { StartupError } from "../../core/errors.ts";
import { prepareDataFolder, readIfPresent, readOrCreateKey } from "../data-folder.ts";
import { folderError, systemCode } from "../system-errors.ts";
import { accountHint, chooseRunAs, spawnAs, type RunAs } from "../account.ts";
import { findPostgresBinaries, type PostgresBinaries } from "./binaries.ts";

export type ClusterPaths = Readonly<ReturnType<typeof clusterPaths>>;

export interface Cluster extends ClusterPaths {
  readonly binaries: PostgresBinaries;
  readonly runAs: RunAs;
}

export const superuser = "waymark";

/** The cluster's places in a data folder, whose path is absolute and has no symbolic links. */
export function clusterPaths(dataDir: string) {
  return {
    dataDir,
    clusterDir: join(dataDir, "postgres"),
    logFile: join(dataDir, "postgres.log"),
    passwordFile: join(dataDir, "postgres-password"),
  };
}

/** True if the data folder has a cluster, also one of another version. */
export function hasCluster(dataDir: string): boolean {
  return existsSync(clusterPaths(dataDir).clusterDir);
}

/**
 * Returns the cluster of a data folder, ready to start; runs initdb if there is none. Only the owner of PostgreSQL may call it for
 * a folder without a cluster. Throws StartupError.
 */
export async function prepareCluster(
  dataDirOption: string,
  onProgress: (sentence: string) => void,
): Promise<Cluster> {
  const binaries = await findPostgresBinaries();
  const paths = clusterPaths(await prepareDataFolder(dataDirOption));
  const { dataDir, clusterDir } = paths;
  const exists = await clusterExists(clusterDir, binaries);
  if (exists) await requirePassword(paths);
  const runAs = await chooseRunAs(dataDir, clusterDir, [binaries.postgres, binaries.initdb]);
  const cluster = { ...paths, binaries, runAs };
  if (!exists) {
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

async function requirePassword({ passwordFile }: ClusterPaths): Promise<void> {
  if ((await stat(passwordFile).catch(() => null)) !== null) return;
  throw new StartupError(
    `The password of the PostgreSQL cluster is missing: ${passwordFile}.`,
    "Restore the file from a backup of the data folder, or set WAYMARK_DATA_DIR to a new folder.",
  );
}

/** Creates the cluster in a temporary folder and renames it, so that it is never partial. */
async function createCluster(cluster: Cluster): Promise<void> {
  const { clusterDir, dataDir } = cluster;
  const workDir = `${clusterDir}.new`;
  // A killed process may have left it.
  await rm(workDir, { recursive: true, force: true });
  try {
    await mkdir(workDir, { mode: 0o700 });
    await runInitdb(cluster, workDir);
    await rename(join(workDir, "postgres"), clusterDir);
    // The rename survives a power cut.
    await using folder = await open(dataDir, "r");
    await folder.sync();
  } catch (error) {
    if (systemCode(error) !== "ENOTEMPTY" && systemCode(error) !== "EEXIST") throw error;
    throw new StartupError(
      `The folder ${clusterDir} is neither empty nor a PostgreSQL cluster.`,
      "Move it elsewhere, or set WAYMARK_DATA_DIR to a new folder.",
    );
  } finally {
    await rm(workDir, { recursive: true, force: true });
  }
}

/**
 * The builtin C.UTF-8 locale sorts by code point and supports lower() and ILIKE for all scripts. Unlike a locale of the
 * operating system, it exists everywhere and never changes, so indexes stay valid.
 */
async function runInitdb(
  { dataDir, passwordFile, binaries, runAs }: Cluster,
  workDir: string,
): Promise<void> {
  const [clusterDir, passwordCopy] = [join(workDir, "postgres"), join(workDir, "password")];
  await mkdir(clusterDir, { mode: 0o700 });
  await writeFile(passwordCopy, await readOrCreateKey(passwordFile), { mode: 0o600 });
  const { account } = runAs;
  for (const path of [workDir, passwordCopy, clusterDir])
    if (account !== null) await chown(path, account.uid, account.gid);
  const paths = ["-D", clusterDir, "-U", superuser, `--pwfile=${passwordCopy}`];
  const encoding = ["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"];
  const args = [...paths, "--auth=scram-sha-256", ...encoding, "--no-instructions"];
  const child = spawnAs(runAs, binaries.initdb, args, { stdio: ["ignore", "ignore", "pipe"] });
  const stderr = child.stderr === null ? Promise.resolve("") : text(child.stderr);
  const failure = await new Promise<string | null>((resolve) => {
    child.once("error", (error) => resolve(String(error)));
    child.once("exit", (code, signal) => resolve(code === 0 ? null : `initdb exited with ${code ?? signal}`));
  });
  if (failure === null) return;
  const lastLines = (await stderr).trim().split("\n").slice(-8).join("\n");
  throw new StartupError(
    `PostgreSQL could not create its cluster in ${dataDir}: ${failure}.\n${lastLines}`,
    accountHint(runAs) ??
      "Fix the error that initdb reports, or set DATABASE_URL to your own PostgreSQL server.",
  );
}
