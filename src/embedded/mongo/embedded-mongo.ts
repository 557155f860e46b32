/**
 * The embedded MongoDB: one `mongod` for all processes that use a data folder. Each process keeps a reference file there,
 * and the last to release stops `mongod`. A lock file serialises starting, joining and stopping.
 */
import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { acquireLock } from "../lock-file.ts";
import { prepareDataFolder } from "../data-folder.ts";
import { mongoUrl, attachMongod } from "./attach.ts";
import { retainMongo, releaseMongo, type MongoReference } from "./references.ts";
import { findMongodBinary, type MongodSources } from "./binary.ts";
import { findMongod, prepareMongoFolder, stopMongod, type MongoFolder } from "./mongod.ts";
import { isRunning } from "../processes.ts";
import { startWait, type StartupWait } from "../startup-wait.ts";
import { folderError } from "../system-errors.ts";

export interface EmbeddedMongoOptions extends MongodSources {
  readonly dataDir: string;
  /** Receives progress messages, one sentence each. */
  readonly onProgress?: (sentence: string) => void;
}

export interface EmbeddedMongo {
  /** Connection string, valid until disposal. Resolves once MongoDB accepts writes; rejects with StartupError. */
  readonly url: Promise<string>;
  /** Releases MongoDB, also during its start, and stops it if no other process uses it. */
  [Symbol.asyncDispose](): Promise<void>;
}

const databaseName = "waymark";
const startTimeoutMs = 60_000;
/** Long, because the API serves requests while MongoDB starts. */
const reportAfterMs = 10_000;
const lockedMessage = "Another Waymark process is starting or stopping MongoDB.";
const lockPollMs = 20;
const checkIntervalMs = 2_000;

/** Starts or joins MongoDB in the background and returns immediately. */
export function openEmbeddedMongo(options: EmbeddedMongoOptions): EmbeddedMongo {
  const stopping = new AbortController();
  const acquiring = acquireMongo(options, stopping.signal).catch((error: unknown) => {
    throw stopping.signal.aborted ? error : folderError(options.dataDir, error);
  });
  const url = acquiring.then(({ folder }) => mongoUrl(folder, databaseName));
  // Callers of `url` handle the rejection; without a handler it would end the process.
  url.catch(() => undefined);
  return {
    url,
    async [Symbol.asyncDispose]() {
      stopping.abort();
      const handle = await acquiring.catch(() => null);
      await handle?.release();
    },
  };
}

interface MongoHandle {
  readonly folder: MongoFolder;
  release(): Promise<void>;
}

async function acquireMongo(options: EmbeddedMongoOptions, stopping: AbortSignal): Promise<MongoHandle> {
  const { dataDir, onProgress = () => undefined } = options;
  await prepareDataFolder(dataDir);
  const folder = await prepareMongoFolder(await realpath(dataDir));
  let binary: string | null = null;
  const findBinary = async (): Promise<string> =>
    (binary ??= await findMongodBinary(options, onProgress, stopping));
  // Find or download the executable before taking the lock, so that other processes need not wait for a download.
  if ((await findMongod(folder)) === null) await findBinary();

  const hint = `Check ${folder.logFile}, then try again.`;
  const waitOptions = { onProgress, reportAfterMs, timeoutMs: startTimeoutMs, hint };
  const attach = (wait: StartupWait): Promise<number> => attachMongod(folder, findBinary, wait);
  const attachWithLock = (): Promise<number> =>
    withStartupLock(folder, startWait({ ...waitOptions, signal: stopping }), attach);

  const reference = await retainMongo(folder.dataDir);
  const releaseWithLock = (): Promise<void> =>
    withStartupLock(folder, startWait(waitOptions), () => releaseAndStop(folder, reference));
  try {
    const watching = keepRunning(await attachWithLock(), stopping, attachWithLock);
    return { folder, release: () => watching.then(releaseWithLock) };
  } catch (error) {
    await releaseWithLock();
    throw error;
  }
}

/** Runs `work` under the lock: a process that joins while another stops MongoDB waits, then starts it again. */
async function withStartupLock<T>(
  { dataDir }: MongoFolder,
  wait: StartupWait,
  work: (wait: StartupWait) => Promise<T>,
): Promise<T> {
  for (;;) {
    const releaseLock = await acquireLock(join(dataDir, "mongo.lock"));
    if (releaseLock === null) {
      await wait.pauseOrFail(lockedMessage, lockPollMs);
      continue;
    }
    try {
      return await work(wait);
    } finally {
      await releaseLock();
    }
  }
}

async function releaseAndStop(folder: MongoFolder, reference: MongoReference): Promise<void> {
  if (await releaseMongo(reference)) await stopMongod(folder);
}

/** Restarts a killed `mongod` on the same socket. Ends when `stopping` aborts. */
async function keepRunning(
  initialPid: number,
  stopping: AbortSignal,
  restart: () => Promise<number>,
): Promise<void> {
  let pid = initialPid;
  while (await sleepUnlessAborted(checkIntervalMs, stopping)) {
    if (!(await isRunning(pid))) pid = await restart().catch(() => pid);
  }
}

/** Resolves to false if `stopping` aborts during the sleep. */
function sleepUnlessAborted(ms: number, stopping: AbortSignal): Promise<boolean> {
  return pause(ms, true, { signal: stopping, ref: false }).catch(() => false);
}
