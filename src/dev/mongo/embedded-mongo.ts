/** The embedded MongoDB, which a Waymark server owns. Commands do not use it. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { MongoClient } from "mongodb";
import { folderError, prepareDataFolder } from "../data-folder.ts";
import { acquireLock } from "../lock.ts";
import { OwnedServer, spawnAs, type ServerProgram } from "../owned-server.ts";
import { findMongodBinary, type MongodSources } from "./binary.ts";

export interface EmbeddedMongoOptions extends MongodSources {
  readonly dataDir: string;
  /** Receives progress messages, one sentence each. */
  readonly onProgress?: (sentence: string) => void;
}

export interface EmbeddedMongo {
  /** Connection string, valid until disposal. Resolves once MongoDB answers; rejects with StartupError. */
  readonly url: Promise<string>;
  /** Stops MongoDB, also during its start. */
  [Symbol.asyncDispose](): Promise<void>;
}

const lockPollMs = 50;

/** Passed at each start. The limits are low, because MongoDB stores only task schedules. */
const mongodArgs = [
  "--nounixsocket",
  "--wiredTigerCacheSizeGB=0.25",
  // The default journal takes 300 MB.
  "--wiredTigerEngineConfigString=log=(file_max=8MB,prealloc=false)",
  "--quiet",
  "--slowms=10000",
  "--setParameter=diagnosticDataCollectionEnabled=false",
];

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
  return { url: urlOf(socket), stack: stack.move() };
}

/** `socket` is all that `mongod` listens on; the permissions of its folder control access. */
function createProgram(databaseDir: string, socket: string, binary: string): ServerProgram {
  const logFile = `${databaseDir}.log`;
  const args = [`--dbpath=${databaseDir}`, `--bind_ip=${socket}`, ...mongodArgs];
  return {
    name: "MongoDB",
    logFile,
    hint: `Fix the errors in ${logFile}. Or delete ${databaseDir}: it contains only task schedules, which Waymark restores.`,
    // mongod empties the file on a clean exit.
    pidFile: join(databaseDir, "mongod.lock"),
    commandLine: `--dbpath=${databaseDir} --bind_ip=`,
    // SIGTERM during the start can deadlock MongoDB 6.0 (3 of 225 starts on a busy machine). SIGKILL loses at most the
    // tasks of 100 ms, whose work a sweep does.
    stopSignals: [
      ["SIGTERM", 10_000],
      ["SIGKILL", 5_000],
    ],
    spawn: (options) => spawnAs(null, binary, args, options),
    connect: () => connect(socket),
  };
}

function urlOf(socket: string): string {
  return `mongodb://${encodeURIComponent(socket)}/waymark?directConnection=true`;
}

async function connect(socket: string): Promise<void> {
  const limits = { serverSelectionTimeoutMS: 500, socketTimeoutMS: 5_000, maxPoolSize: 1 };
  await using client = new MongoClient(urlOf(socket), limits);
  await client.db().command({ ping: 1 });
}
