/** Starts and stops the `mongod` of a data folder as a detached process. */
import { createHash } from "node:crypto";
import { lstat, mkdir, rm } from "node:fs/promises";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { StartupError } from "../../platform/errors.ts";
import { readIfPresent } from "../data-folder.ts";
import { startDetached, stopDetached, type StopSignals } from "../detached-server.ts";
import { parseErrors } from "./log.ts";
import { asCurrentUser, spawnAs } from "../postgres/account.ts";
import { isRunning, readCommandLine } from "../processes.ts";
import type { StartupWait } from "../startup-wait.ts";
import { ignoreCode } from "../system-errors.ts";

export interface MongoFolder {
  /** The data folder, absolute and without symbolic links. */
  readonly dataDir: string;
  readonly databaseDir: string;
  readonly logFile: string;
  /** The only socket that `mongod` listens on; the permissions of its folder control access. */
  readonly socket: string;
}

export const replicaSet = "rs0";

/** Passed at each start. The limits are low, because MongoDB stores only task schedules. */
const mongodArgs = [
  "--nounixsocket",
  // Unused, and another than a member's address has where it names none: else MongoDB asks DNS for the address of the
  // socket, and without a network waits for that.
  "--port=27018",
  `--replSet=${replicaSet}`,
  "--oplogSize=64",
  "--wiredTigerCacheSizeGB=0.25",
  // The default journal takes 300 MB.
  "--wiredTigerEngineConfigString=log=(file_max=8MB,prealloc=false)",
  "--quiet",
  "--slowms=10000",
  "--setParameter=diagnosticDataCollectionEnabled=false",
  "--setParameter=shutdownTimeoutMillisForSignaledShutdown=0",
];

/**
 * SIGTERM during the start can deadlock MongoDB 6.0 (3 of 225 starts on a busy machine). SIGKILL loses nothing: the journal
 * has every acknowledged write.
 */
const stopSignals: StopSignals = [
  ["SIGTERM", 10_000],
  ["SIGKILL", 5_000],
];

/** The shorter limit of Linux (108) and macOS (104), minus the terminating zero. */
const maxSocketPathBytes = 103;

export async function prepareMongoFolder(dataDir: string): Promise<MongoFolder> {
  const databaseDir = join(dataDir, "mongo");
  await mkdir(databaseDir, { mode: 0o700 }).catch(ignoreCode("EEXIST"));
  return { dataDir, databaseDir, logFile: join(dataDir, "mongo.log"), socket: socketPath(databaseDir) };
}

/** Returns the process ID of the folder's running `mongod`; null if none runs. */
export async function findMongod({ databaseDir }: MongoFolder): Promise<number | null> {
  // mongod writes its process ID there, and empties the file on a clean exit.
  const pid = Number(await readIfPresent(join(databaseDir, "mongod.lock")));
  if (pid === 0) return null;
  // A reused process ID, or that of the folder which this one was copied from, has other arguments.
  return (await readCommandLine(pid)).includes(`--dbpath=${databaseDir} --bind_ip=`) ? pid : null;
}

/** Resolves once `mongod` accepts connections. Throws StartupError if it exits. */
export async function startMongod(folder: MongoFolder, binary: string, wait: StartupWait): Promise<void> {
  if (usesShortSocketPath(folder)) await prepareSocketFolder(dirname(folder.socket));
  const args = [`--dbpath=${folder.databaseDir}`, `--bind_ip=${folder.socket}`, ...mongodArgs];
  const failure = await startDetached(
    {
      logFile: folder.logFile,
      startingMessage: "MongoDB is starting, which takes longer after a crash.",
      stopSignals,
      spawn: (options) => spawnAs(asCurrentUser, binary, args, options),
      isReady: () => canConnect(folder.socket),
      excerptLog: parseErrors,
    },
    wait,
  );
  if (failure === null) return;
  throw new StartupError(
    `MongoDB did not start on ${folder.databaseDir}. ${failure}`,
    `Fix the errors in ${folder.logFile}. Or delete ${folder.databaseDir}: it contains only task schedules, which ` +
      "Waymark restores.",
  );
}

export async function stopMongod(folder: MongoFolder): Promise<void> {
  const pid = await findMongod(folder);
  if (pid !== null) await stopDetached(pid, stopSignals, async () => !(await isRunning(pid)));
  if (usesShortSocketPath(folder)) await rm(dirname(folder.socket), { recursive: true, force: true });
}

function canConnect(socket: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const connection = connect(socket);
  connection.once("connect", () => resolve(true));
  connection.once("error", () => resolve(false));
  return promise.finally(() => connection.destroy());
}

/** Uses a folder in /tmp if the default path is too long; not TMPDIR, because other processes must find the same path. */
function socketPath(databaseDir: string): string {
  const defaultPath = join(databaseDir, "mongod.sock");
  if (Buffer.byteLength(defaultPath) <= maxSocketPathBytes) return defaultPath;
  const name = createHash("sha256").update(databaseDir).digest("hex").slice(0, 16);
  return `/tmp/waymark-${process.getuid?.() ?? 0}-${name}/mongod.sock`;
}

function usesShortSocketPath({ socket, databaseDir }: MongoFolder): boolean {
  return dirname(socket) !== databaseDir;
}

/** Creates the folder in /tmp. Throws StartupError if an existing one belongs to another user or is accessible to others. */
async function prepareSocketFolder(folder: string): Promise<void> {
  await mkdir(folder, { mode: 0o700 }).catch(ignoreCode("EEXIST"));
  const stats = await lstat(folder);
  const isOurs = stats.isDirectory() && stats.uid === process.getuid?.() && (stats.mode & 0o077) === 0;
  if (isOurs) return;
  throw new StartupError(
    `MongoDB needs ${folder}, because the data folder's path is too long for a socket, but it is not a private folder of this user.`,
    "Delete it, or set WAYMARK_DATA_DIR to a shorter path.",
  );
}
