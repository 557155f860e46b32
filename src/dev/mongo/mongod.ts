/** The `mongod` of a data folder: its arguments, files and socket. */
import { createHash } from "node:crypto";
import { lstat, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { StartupError } from "../../core/errors.ts";
import { readIfPresent } from "../data-folder.ts";
import type { ServerProgram } from "../owned-server.ts";
import { asCurrentUser } from "../account.ts";
import { readCommandLine } from "../processes.ts";
import { ignoreCode } from "../system-errors.ts";
import { connectToMongod, replicaSet } from "./connect.ts";

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

/** The shorter limit of Linux (108) and macOS (104), minus the terminating zero. */
const maxSocketPathBytes = 103;
const [maxShownLines, maxShownLineLength] = [5, 500];

/**
 * How to find, start and stop the folder's `mongod`. `socket` is all that it listens on; the permissions of its folder control
 * access. `dataDir` has no symbolic links.
 */
export async function createMongoProgram(
  dataDir: string,
  binary: string,
): Promise<ServerProgram & { socket: string }> {
  const [databaseDir, logFile] = [join(dataDir, "mongo"), join(dataDir, "mongo.log")];
  await mkdir(databaseDir, { mode: 0o700 }).catch(ignoreCode("EEXIST"));
  const socket = await chooseSocket(databaseDir);
  return {
    socket,
    logFile,
    // SIGTERM during the start can deadlock MongoDB 6.0 (3 of 225 starts on a busy machine). SIGKILL loses nothing: the journal
    // has every acknowledged write.
    stopSignals: [
      ["SIGTERM", 10_000],
      ["SIGKILL", 5_000],
    ],
    async find() {
      // mongod writes its process ID there, and empties the file on a clean exit.
      const pid = Number(await readIfPresent(join(databaseDir, "mongod.lock")));
      if (pid === 0) return null;
      // A reused process ID, or that of the folder which this one was copied from, has other arguments.
      return (await readCommandLine(pid)).includes(`--dbpath=${databaseDir} --bind_ip=`) ? pid : null;
    },
    async command() {
      const args = [`--dbpath=${databaseDir}`, `--bind_ip=${socket}`, ...mongodArgs];
      return { runAs: asCurrentUser, program: binary, args };
    },
    connect: () => connectToMongod(socket),
    explainExit: (reason, log) =>
      new StartupError(
        `MongoDB did not start on ${databaseDir}. ${reason}.\n${errorsIn(log)}`,
        `Fix the errors in ${logFile}. Or delete ${databaseDir}: it contains only task schedules, which Waymark restores.`,
      ),
  };
}

/** Returns up to 5 lines of the JSON log: errors, and output from before logging started. */
function errorsIn(log: string): string {
  const isRoutine = /^\{"t".{0,60}"s":"[DIW]/;
  const lines = log.split("\n").filter((line) => !isRoutine.test(line));
  return lines
    .slice(0, maxShownLines)
    .map((line) => line.slice(0, maxShownLineLength))
    .join("\n");
}

/**
 * Returns the socket's path: in the database folder, or in a folder in /tmp if that path is too long. Not in TMPDIR, because the
 * next owner must find the same path. Throws StartupError if the folder in /tmp belongs to another user or is accessible to others.
 */
async function chooseSocket(databaseDir: string): Promise<string> {
  const path = join(databaseDir, "mongod.sock");
  if (Buffer.byteLength(path) <= maxSocketPathBytes) return path;
  const uid = process.getuid?.() ?? 0;
  const folder = `/tmp/waymark-${uid}-${createHash("sha256").update(databaseDir).digest("hex").slice(0, 16)}`;
  await mkdir(folder, { mode: 0o700 }).catch(ignoreCode("EEXIST"));
  const stats = await lstat(folder);
  if (stats.isDirectory() && stats.uid === uid && (stats.mode & 0o077) === 0) return `${folder}/mongod.sock`;
  throw new StartupError(
    `MongoDB needs ${folder}, because the data folder's path is too long for a socket, but it is not a private folder of this user.`,
    "Delete it, or set WAYMARK_DATA_DIR to a shorter path.",
  );
}
