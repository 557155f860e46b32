/** The embedded MongoDB, which a Waymark server owns. Commands do not use it. */
import { spawn } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { MongoClient, MongoServerError, type Db, type Document } from "mongodb";
import { withTimeout } from "../../core/concurrency/timeout.ts";
import { StartupError } from "../../core/errors.ts";
import { folderError, prepareDataFolder, readIfPresent } from "../data-folder.ts";
import { acquireLock } from "../lock.ts";
import { OwnedServer, readCommandLine, type ServerProgram } from "../owned-server.ts";
import { findMongodBinary, type MongodSources } from "./binary.ts";

export interface EmbeddedMongoOptions extends MongodSources {
  readonly dataDir: string;
  /** Receives progress messages, one sentence each. */
  readonly onProgress?: (sentence: string) => void;
}

export interface EmbeddedMongo {
  /** Connection string, valid until disposal. Resolves once MongoDB accepts writes; rejects with StartupError. */
  readonly url: Promise<string>;
  /** Stops MongoDB, also during its start. */
  [Symbol.asyncDispose](): Promise<void>;
}

const databaseName = "waymark";
const replicaSet = "rs0";
const lockPollMs = 50;
/** After a lost connection, an operation of the driver may never settle. */
const connectTimeoutMs = 5_000;
/** MongoDB error codes. `invalidReplicaSetConfig` also occurs when the data folder was moved, so the socket path changed. */
const notYetInitialized = 94;
const invalidReplicaSetConfig = 93;

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

/** Starts MongoDB in the background and returns immediately. */
export function openEmbeddedMongo(options: EmbeddedMongoOptions): EmbeddedMongo {
  const stopping = new AbortController();
  const opening = start(options, stopping.signal).catch((error: unknown) => {
    throw stopping.signal.aborted ? error : folderError(options.dataDir, error);
  });
  const url = opening.then((opened) => opened.url);
  // Callers of `url` handle the rejection; without a handler it would end the process.
  url.catch(() => undefined);
  return {
    url,
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await (await opening.catch(() => null))?.stack.disposeAsync();
    },
  };
}

async function start(
  options: EmbeddedMongoOptions,
  signal: AbortSignal,
): Promise<{ url: string; stack: AsyncDisposableStack }> {
  const { onProgress = () => undefined } = options;
  await using stack = new AsyncDisposableStack();
  const dataDir = await prepareDataFolder(options.dataDir);
  const binary = await findMongodBinary(options, onProgress, signal);
  const databaseDir = join(dataDir, "mongo");
  const socket = join(databaseDir, "mongod.sock");
  if (Buffer.byteLength(socket) > maxSocketPathBytes)
    throw new StartupError(
      `The path of MongoDB's socket has more than ${maxSocketPathBytes} bytes: ${socket}.`,
      "Set WAYMARK_DATA_DIR to a shorter path.",
    );
  await mkdir(databaseDir, { recursive: true, mode: 0o700 });
  for (let isReported = false; ; isReported = true) {
    const lock = acquireLock(join(dataDir, "mongo.lock"), "service");
    if (typeof lock === "function") {
      stack.defer(lock);
      break;
    }
    if (!isReported) onProgress("Waiting for another Waymark server that uses MongoDB in the data folder.");
    await pause(lockPollMs, undefined, { signal });
  }
  stack.use(await OwnedServer.start(createProgram(databaseDir, socket, binary), signal));
  return { url: urlOf(socket, databaseName), stack: stack.move() };
}

/** `socket` is all that `mongod` listens on; the permissions of its folder control access. */
function createProgram(databaseDir: string, socket: string, binary: string): ServerProgram {
  const logFile = `${databaseDir}.log`;
  const args = [`--dbpath=${databaseDir}`, `--bind_ip=${socket}`, ...mongodArgs];
  return {
    name: "MongoDB",
    logFile,
    hint: `Fix the errors in ${logFile}. Or delete ${databaseDir}: it contains only task schedules, which Waymark restores.`,
    // SIGTERM during the start can deadlock MongoDB 6.0 (3 of 225 starts on a busy machine). SIGKILL loses nothing: the journal
    // has every acknowledged write.
    stopSignals: [
      ["SIGTERM", 10_000],
      ["SIGKILL", 5_000],
    ],
    async find() {
      // mongod writes its process ID there, and empties the file on a clean exit.
      const pid = Number(await readIfPresent(join(databaseDir, "mongod.lock")));
      // A reused process ID, or that of the folder which this one was copied from, has other arguments.
      const isOurs = pid !== 0 && (await readCommandLine(pid)).includes(`--dbpath=${databaseDir} --bind_ip=`);
      return isOurs ? pid : null;
    },
    spawn: (options) =>
      spawn(binary, args, {
        ...options,
        cwd: "/",
        env: { PATH: "/usr/local/bin:/usr/bin:/bin", LC_ALL: "C" },
      }),
    connect: () => connect(socket),
    summarize: errorsIn,
  };
}

function urlOf(socket: string, database: string): string {
  return `mongodb://${encodeURIComponent(socket)}/${database}?directConnection=true`;
}

/** Resolves once `mongod` accepts writes; otherwise rejects. */
async function connect(socket: string): Promise<void> {
  const options = { serverSelectionTimeoutMS: 500, maxPoolSize: 1 };
  const client = new MongoClient(urlOf(socket, "admin"), options);
  try {
    const isWritable = await withTimeout(prepareReplicaSet(client.db(), socket), connectTimeoutMs);
    if (isWritable !== true) throw new Error("It does not accept writes yet");
  } finally {
    await withTimeout(client.close(), connectTimeoutMs);
  }
}

/** Returns true if MongoDB accepts writes. Initiates the replica set; its only member's host is the socket path. */
async function prepareReplicaSet(admin: Db, socket: string): Promise<boolean> {
  const { isWritablePrimary } = await admin.command({ hello: 1 });
  if (isWritablePrimary === true) return true;
  const code = await admin.command({ replSetGetStatus: 1 }).then(
    () => null,
    (error: unknown) => (error instanceof MongoServerError ? error.code : null),
  );
  if (code === notYetInitialized) {
    await admin.command({ replSetInitiate: { _id: replicaSet, members: [{ _id: 0, host: socket }] } });
  } else if (code === invalidReplicaSetConfig) {
    const { config } = (await admin.command({ replSetGetConfig: 1 })) as { config: Document };
    const [member] = config["members"] as Document[];
    const moved = { version: Number(config["version"]) + 1, members: [{ ...member, host: socket }] };
    await admin.command({ replSetReconfig: { ...config, ...moved }, force: true });
  }
  return false;
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
