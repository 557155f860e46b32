/**
 * The embedded MongoDB: one `mongod` for all processes that use a data folder. Each leaves a file there while it does, and
 * the last to let go stops it. Who comes and who leaves take turns, by a claim.
 */
import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { takeClaim } from "./claim.ts";
import { prepareDataFolder } from "./data-folder.ts";
import { addressOf, attachMongod } from "./mongo-attach.ts";
import { addUser, removeUser, type MongoUser } from "./mongo-users.ts";
import { findMongodBinary, type MongodSources } from "./mongod-binary.ts";
import { findMongod, prepareMongoFolder, stopMongod, type MongoFolder } from "./mongod.ts";
import { isRunning } from "./processes.ts";
import { startWaiting, type StartupWait } from "./startup-wait.ts";
import { folderError } from "./system-errors.ts";

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
const patienceMs = 60_000;
/** Nobody waits for it: the API answers meanwhile. */
const tellAfterMs = 10_000;
const takingTurns = "Another Waymark starts or stops MongoDB.";
const turnPauseMs = 20;
const lookEveryMs = 2_000;

/** Begins to start or to join it, and returns at once: nothing waits for MongoDB. */
export function openEmbeddedMongo(options: EmbeddedMongoOptions): EmbeddedMongo {
  const stopping = new AbortController();
  const holding = hold(options, stopping.signal).catch((error: unknown) => {
    throw stopping.signal.aborted ? error : folderError(options.dataDir, error);
  });
  const url = holding.then(({ folder }) => addressOf(folder, databaseName));
  // Its failure is for who asks for the address, and ends nobody else.
  url.catch(() => undefined);
  return {
    url,
    async [Symbol.asyncDispose]() {
      stopping.abort();
      const held = await holding.catch(() => null);
      await held?.letGo();
    },
  };
}

interface Holding {
  readonly folder: MongoFolder;
  letGo(): Promise<void>;
}

async function hold(options: EmbeddedMongoOptions, stopping: AbortSignal): Promise<Holding> {
  const { dataDir, onProgress = () => undefined } = options;
  await prepareDataFolder(dataDir);
  const folder = await prepareMongoFolder(await realpath(dataDir));
  let binary: string | null = null;
  const findBinary = async (): Promise<string> =>
    (binary ??= await findMongodBinary(options, onProgress, stopping));
  // Before our turn: should it be downloaded, nobody else is to wait for that.
  if ((await findMongod(folder)) === null) await findBinary();

  const hint = `See ${folder.logFile}; then try again.`;
  const patience = { onProgress, tellAfterMs, giveUpAfterMs: patienceMs, hint };
  const attach = (wait: StartupWait): Promise<number> => attachMongod(folder, findBinary, wait);
  const attachInTurn = (): Promise<number> =>
    inTurn(folder, startWaiting({ ...patience, signal: stopping }), attach);

  const user = await addUser(folder.dataDir);
  const leaveInTurn = (): Promise<void> => inTurn(folder, startWaiting(patience), () => leave(folder, user));
  try {
    const watching = keepRunning(await attachInTurn(), stopping, attachInTurn);
    return { folder, letGo: () => watching.then(leaveInTurn) };
  } catch (error) {
    await leaveInTurn();
    throw error;
  }
}

/** One process at a time starts, joins or stops: who comes while the last one leaves waits, and then starts it anew. */
async function inTurn<T>(
  { dataDir }: MongoFolder,
  wait: StartupWait,
  work: (wait: StartupWait) => Promise<T>,
): Promise<T> {
  for (;;) {
    const giveBack = await takeClaim(join(dataDir, "mongo.claim"));
    if (giveBack === null) {
      await wait.because(takingTurns, turnPauseMs);
      continue;
    }
    try {
      return await work(wait);
    } finally {
      await giveBack();
    }
  }
}

async function leave(folder: MongoFolder, user: MongoUser): Promise<void> {
  if (await removeUser(user)) await stopMongod(folder);
}

/** Starts it again, at the same address, when it is killed under us. Ends when we stop. */
async function keepRunning(
  first: number,
  stopping: AbortSignal,
  again: () => Promise<number>,
): Promise<void> {
  let pid = first;
  while (await passes(lookEveryMs, stopping)) {
    if (!(await isRunning(pid))) pid = await again().catch(() => pid);
  }
}

/** False where we are told to stop meanwhile. */
function passes(ms: number, stopping: AbortSignal): Promise<boolean> {
  return pause(ms, true, { signal: stopping, ref: false }).catch(() => false);
}
