/** Starts and stops the `mongod` of a data folder, as a process of its own that outlives the one that started it. */
import { createHash } from "node:crypto";
import { lstat, mkdir, rm } from "node:fs/promises";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { StartupError } from "../../platform/errors.ts";
import { readIfPresent } from "../data-folder.ts";
import { startDetached, stopDetached } from "../detached-server.ts";
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
  /** Where `mongod` listens, and nowhere else: the permissions of its folder say who may connect. */
  readonly socket: string;
}

export const replicaSet = "rs0";

/** Given at each start. What it holds is small: times at which tasks are due. */
const mongodArgs = [
  "--nounixsocket",
  // Unused, and another than a member's address has where it names none: else MongoDB asks DNS for the address of the
  // socket, and without a network waits for that.
  "--port=27018",
  `--replSet=${replicaSet}`,
  "--oplogSize=64",
  "--wiredTigerCacheSizeGB=0.25",
  // Else the journal alone takes 300 MB.
  "--wiredTigerEngineConfigString=log=(file_max=8MB,prealloc=false)",
  "--quiet",
  "--slowms=10000",
  "--setParameter=diagnosticDataCollectionEnabled=false",
  "--setParameter=shutdownTimeoutMillisForSignaledShutdown=0",
];

/** The shortest bound of those of Linux (108) and macOS (104), with its closing zero. */
const maxSocketPathBytes = 103;

export async function prepareMongoFolder(dataDir: string): Promise<MongoFolder> {
  const databaseDir = join(dataDir, "mongo");
  await mkdir(databaseDir, { mode: 0o700 }).catch(ignoreCode("EEXIST"));
  return { dataDir, databaseDir, logFile: join(dataDir, "mongo.log"), socket: socketPath(databaseDir) };
}

/** The running `mongod` of the folder; null where none runs. */
export async function findMongod({ databaseDir }: MongoFolder): Promise<number | null> {
  // It writes its number there, and empties the file when it ends by itself.
  const pid = Number(await readIfPresent(join(databaseDir, "mongod.lock")));
  return pid > 0 && (await isMongodOf(databaseDir, pid)) ? pid : null;
}

/** Resolves once it listens; a StartupError where it ended instead. */
export async function startMongod(folder: MongoFolder, binary: string, wait: StartupWait): Promise<void> {
  if (usesShortSocketPath(folder)) await prepareSocketFolder(dirname(folder.socket));
  const args = [`--dbpath=${folder.databaseDir}`, `--bind_ip=${folder.socket}`, ...mongodArgs];
  const failure = await startDetached(
    {
      logFile: folder.logFile,
      startingMessage: "MongoDB is starting; after a crash it recovers what was written.",
      spawn: (how) => spawnAs(asCurrentUser, binary, args, how),
      isReady: () => canConnect(folder.socket),
      excerptLog: parseErrors,
    },
    wait,
  );
  if (failure === null) return;
  throw new StartupError(
    `MongoDB did not start on ${folder.databaseDir}. ${failure}`,
    `Mend what the log names (${folder.logFile}). Or remove ${folder.databaseDir}: it holds when tasks are due, which ` +
      "Waymark finds again by itself.",
  );
}

export async function stopMongod(folder: MongoFolder): Promise<void> {
  const pid = await findMongod(folder);
  if (pid !== null) await signalMongod(pid);
  if (usesShortSocketPath(folder)) await rm(dirname(folder.socket), { recursive: true, force: true });
}

async function signalMongod(pid: number): Promise<void> {
  await stopDetached(
    pid,
    [
      ["SIGTERM", 20_000],
      ["SIGKILL", 5_000],
    ],
    async () => !(await isRunning(pid)),
  );
}

async function isMongodOf(databaseDir: string, pid: number): Promise<boolean> {
  return (await readCommandLine(pid)).includes(`--dbpath=${databaseDir}`);
}

function canConnect(socket: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const connection = connect(socket);
  connection.once("connect", () => resolve(true));
  connection.once("error", () => resolve(false));
  return promise.finally(() => connection.destroy());
}

/** Where its path is too long, below /tmp, whoever looks: a path that depends on the environment others could not find. */
function socketPath(databaseDir: string): string {
  const defaultPath = join(databaseDir, "mongod.sock");
  if (Buffer.byteLength(defaultPath) <= maxSocketPathBytes) return defaultPath;
  const name = createHash("sha256").update(databaseDir).digest("hex").slice(0, 16);
  return `/tmp/waymark-${process.getuid?.() ?? 0}-${name}/mongod.sock`;
}

function usesShortSocketPath({ socket, databaseDir }: MongoFolder): boolean {
  return dirname(socket) !== databaseDir;
}

/** Everybody may write below /tmp, so the folder counts only where it is ours alone. */
async function prepareSocketFolder(folder: string): Promise<void> {
  await mkdir(folder, { mode: 0o700 }).catch(ignoreCode("EEXIST"));
  const found = await lstat(folder);
  const isOurs = found.isDirectory() && found.uid === process.getuid?.() && (found.mode & 0o077) === 0;
  if (isOurs) return;
  throw new StartupError(
    `${folder} belongs to somebody else, and MongoDB needs it: the path of the data folder is too long for a socket.`,
    "Remove it, or set WAYMARK_DATA_DIR to a shorter path.",
  );
}
