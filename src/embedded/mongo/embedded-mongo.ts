/**
 * The embedded MongoDB: one `mongod` for all processes that use a data folder. Each leaves a file there while it does, and
 * the last to let go stops it. Who comes and who leaves take turns, by a claim.
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
  /** Told what is being waited for, in sentences. */
  readonly onProgress?: (sentence: string) => void;
}

export interface EmbeddedMongo {
  /** Of a MongoDB that takes writes, good for as long as this is held; rejects with a StartupError where there is none. */
  readonly url: Promise<string>;
  /** Lets go, whatever has become of the start; stops MongoDB when no other process of ours uses it. */
  [Symbol.asyncDispose](): Promise<void>;
}

const databaseName = "waymark";
const startTimeoutMs = 60_000;
/** Nobody waits for it: the API answers meanwhile. */
const reportAfterMs = 10_000;
const lockedMessage = "Another Waymark starts or stops MongoDB.";
const lockPollMs = 20;
const checkIntervalMs = 2_000;

/** Begins to start or to join it, and returns at once: nothing waits for MongoDB. */
export function openEmbeddedMongo(options: EmbeddedMongoOptions): EmbeddedMongo {
  const stopping = new AbortController();
  const acquiring = acquireMongo(options, stopping.signal).catch((error: unknown) => {
    throw stopping.signal.aborted ? error : folderError(options.dataDir, error);
  });
  const url = acquiring.then(({ folder }) => mongoUrl(folder, databaseName));
  // Its failure is for who asks for the address, and ends nobody else.
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
  // Before our turn: should it be downloaded, nobody else is to wait for that.
  if ((await findMongod(folder)) === null) await findBinary();

  const hint = `See ${folder.logFile}; then try again.`;
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

/** One process at a time starts, joins or stops: who comes while the last one leaves waits, and then starts it anew. */
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

/** Starts it again, at the same address, when it is killed under us. Ends when we stop. */
async function keepRunning(
  first: number,
  stopping: AbortSignal,
  restart: () => Promise<number>,
): Promise<void> {
  let pid = first;
  while (await sleepUnlessAborted(checkIntervalMs, stopping)) {
    if (!(await isRunning(pid))) pid = await restart().catch(() => pid);
  }
}

/** False where we are told to stop meanwhile. */
function sleepUnlessAborted(ms: number, stopping: AbortSignal): Promise<boolean> {
  return pause(ms, true, { signal: stopping, ref: false }).catch(() => false);
}
