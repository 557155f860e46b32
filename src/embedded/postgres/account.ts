/** The system user that PostgreSQL runs as: our own, or an unprivileged one when we are root, which it refuses. */
import { spawn, type ChildProcess, type SpawnOptions } from "node:child_process";
import { chmod, chown, readFile, realpath, stat } from "node:fs/promises";
import type { Stats } from "node:fs";
import { dirname } from "node:path";
import { StartupError } from "../../platform/errors.ts";

export interface SystemAccount {
  readonly uid: number;
  readonly gid: number;
}

export interface RunAs {
  /** Null: as ourselves. */
  readonly account: SystemAccount | null;
  /** The file or folder that shuts the account out, such as /root; null when nothing does. */
  readonly blockedPath: string | null;
}

export const asCurrentUser: RunAs = { account: null, blockedPath: null };

/** Chooses for a data folder and the programs to run; the data folder is opened to the account, nothing else is. */
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

/** Starts a program as that user. Nothing of our environment is passed on: it holds secrets, and PG* settings. */
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
  return spawn("setpriv", [...setprivOptions(account), program, ...args], common);
}

/** What to advise when a program could not be started as that user. */
export function accountHint({ blockedPath }: RunAs): string | null {
  if (blockedPath === null) return null;
  return (
    `Waymark runs as root, PostgreSQL refuses to, and ${blockedPath} is closed to other users: open it ` +
    `("chmod o+x ${blockedPath}"), move the project or WAYMARK_DATA_DIR elsewhere, or run Waymark as an ordinary user.`
  );
}

/**
 * The account keeps one right of root's, to ignore the permissions of files and folders: only where it could not start
 * otherwise. The secure bit makes access(2), with which PostgreSQL looks for itself, count that right.
 */
function setprivOptions({ uid, gid }: SystemAccount): string[] {
  const right = "-all,+dac_override";
  return [
    `--reuid=${uid}`,
    `--regid=${gid}`,
    "--clear-groups",
    "--securebits=+no_setuid_fixup",
    `--inh-caps=${right}`,
    `--ambient-caps=${right}`,
  ];
}

/** Whoever owns the cluster, or the folder made ready for it; else a system account. None is ever created. */
async function chooseAccount(dataDir: string, clusterDir: string): Promise<SystemAccount> {
  const cluster = await stat(clusterDir).catch(() => null);
  if (cluster !== null && cluster.uid !== 0) return { uid: cluster.uid, gid: cluster.gid };
  const passwdEntries = (await readFile("/etc/passwd", "utf8").catch(() => ""))
    .split("\n")
    .map((line) => line.split(":"));
  const owner = await stat(dataDir);
  const match =
    passwdEntries.find(([, , uid]) => owner.uid !== 0 && uid === String(owner.uid)) ??
    ["postgres", "_postgres", "nobody"]
      .flatMap((name) => passwdEntries.filter(([user]) => user === name))
      .at(0);
  if (match !== undefined) return { uid: Number(match[2]), gid: Number(match[3]) };
  throw new StartupError(
    "PostgreSQL refuses to run as root, and /etc/passwd has neither a user postgres nor a user nobody.",
    "Run Waymark as an ordinary user, or set DATABASE_URL to a PostgreSQL server of your own.",
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

/** For a folder: may pass through it. For a program: may run it. */
function canTraverse({ uid, gid }: SystemAccount, { uid: owner, gid: group, mode }: Stats): boolean {
  if (uid === owner) return (mode & 0o100) !== 0;
  return (mode & (gid === group ? 0o010 : 0o001)) !== 0;
}
