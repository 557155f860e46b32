/** The system user that PostgreSQL runs as: the current one, or an unprivileged one if Waymark runs as root. */
// cspell:ignore nobody (a system account)
import { spawn, type ChildProcess, type SpawnOptions } from "node:child_process";
import { chmod, chown, readFile, realpath, stat } from "node:fs/promises";
import type { Stats } from "node:fs";
import { dirname } from "node:path";
import { StartupError } from "../core/errors.ts";

export interface SystemAccount {
  readonly uid: number;
  readonly gid: number;
}

export interface RunAs {
  /** Null: the current user. */
  readonly account: SystemAccount | null;
  /** The first file or folder that the account cannot access, such as /root; null if there is none. */
  readonly blockedPath: string | null;
}

export const asCurrentUser: RunAs = { account: null, blockedPath: null };

/** Chooses the account and gives it access to the data folder, but to nothing else. Throws StartupError. */
export async function chooseRunAs(
  dataDir: string,
  clusterDir: string,
  programs: readonly string[],
): Promise<RunAs> {
  if (process.getuid?.() !== 0) return asCurrentUser;
  const account = await chooseAccount(dataDir, clusterDir);
  await grantAccess(account, dataDir);
  for (const path of [dataDir, ...programs]) {
    const blockedPath = await findBlockedPath(account, await realpath(path));
    if (blockedPath !== null) return { account, blockedPath };
  }
  return { account, blockedPath: null };
}

/** Starts a program as that user, without our environment, which contains secrets and PG* settings. */
export function spawnAs(
  runAs: RunAs,
  program: string,
  args: readonly string[],
  options: SpawnOptions,
): ChildProcess {
  const { account, blockedPath } = runAs;
  const common = { ...options, cwd: "/", env: { PATH: "/usr/local/bin:/usr/bin:/bin", LC_ALL: "C" } };
  if (account === null) return spawn(program, args, common);
  if (blockedPath === null) return spawn(program, args, { ...common, ...account });
  // It keeps one capability of root, to bypass file permissions. The secure bit makes access(2), which PostgreSQL calls on its own
  // executable, honour it.
  const ids = [`--reuid=${account.uid}`, `--regid=${account.gid}`, "--clear-groups"];
  const caps = ["inh", "ambient"].map((set) => `--${set}-caps=-all,+dac_override`);
  return spawn("setpriv", [...ids, "--securebits=+no_setuid_fixup", ...caps, program, ...args], common);
}

/** Returns the hint for an error if the account lacks access to a path; otherwise null. */
export function accountHint({ blockedPath }: RunAs): string | null {
  if (blockedPath === null) return null;
  return (
    `Waymark runs as root, which PostgreSQL refuses, and other users cannot access ${blockedPath}: open it ` +
    `("chmod o+x ${blockedPath}"), move the project or WAYMARK_DATA_DIR elsewhere, or run Waymark as an ordinary user.`
  );
}

/** Returns the owner of the cluster or the data folder, or else the account postgres or nobody. Creates no account. */
async function chooseAccount(dataDir: string, clusterDir: string): Promise<SystemAccount> {
  const cluster = await stat(clusterDir).catch(() => null);
  if (cluster !== null && cluster.uid !== 0) return { uid: cluster.uid, gid: cluster.gid };
  const passwd = await readFile("/etc/passwd", "utf8").catch(() => "");
  const entries = passwd.split("\n").map((line) => line.split(":"));
  const { uid: owner } = await stat(dataDir);
  const match =
    entries.find(([, , uid]) => owner !== 0 && uid === String(owner)) ??
    ["postgres", "_postgres", "nobody"].flatMap((name) => entries.filter(([user]) => user === name)).at(0);
  if (match !== undefined) return { uid: Number(match[2]), gid: Number(match[3]) };
  throw new StartupError(
    "PostgreSQL refuses to run as root, and /etc/passwd has no user postgres or nobody to run it as.",
    "Run Waymark as an ordinary user, or set DATABASE_URL to your own PostgreSQL server.",
  );
}

async function grantAccess(account: SystemAccount, dataDir: string): Promise<void> {
  const folder = await stat(dataDir);
  if (canTraverse(account, folder) || folder.uid !== 0) return;
  await chown(dataDir, folder.uid, account.gid);
  await chmod(dataDir, (folder.mode & 0o707) | 0o010);
}

async function findBlockedPath(account: SystemAccount, path: string): Promise<string | null> {
  const above = dirname(path) === path ? null : await findBlockedPath(account, dirname(path));
  if (above !== null) return above;
  return canTraverse(account, await stat(path)) ? null : path;
}

/** True if the account may execute the file: traverse a folder or run a program. */
function canTraverse({ uid, gid }: SystemAccount, { uid: owner, gid: group, mode }: Stats): boolean {
  if (uid === owner) return (mode & 0o100) !== 0;
  return (mode & (gid === group ? 0o010 : 0o001)) !== 0;
}
