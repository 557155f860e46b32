/** The embedded MongoDB, which a Waymark server owns. Commands do not use it. */
import { join } from "node:path";
import { MINUTE_MS } from "../../core/time.ts";
import { prepareDataFolder } from "../data-folder.ts";
import { acquireLock } from "../lock-file.ts";
import { OwnedServer } from "../owned-server.ts";
import { NotYet, retry } from "../retry.ts";
import { folderError } from "../system-errors.ts";
import { findMongodBinary, type MongodSources } from "./binary.ts";
import { mongoUrl } from "./connect.ts";
import { createMongoProgram } from "./mongod.ts";

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
/** Long, because the API serves requests while MongoDB starts. */
const reportAfterMs = 10_000;

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
  const program = await createMongoProgram(dataDir, binary);
  const hint = `Check ${program.logFile}, then try again.`;
  const wait = { onProgress, reportAfterMs, timeoutMs: MINUTE_MS, hint, signal };
  const unlock = await retry(() => {
    const release = acquireLock(join(dataDir, "mongo.lock"));
    if (release === null) throw new NotYet("Another Waymark server uses MongoDB in the data folder.");
    return release;
  }, wait);
  stack.defer(unlock);
  stack.use(await OwnedServer.start(program, wait));
  return { url: mongoUrl(program.socket, databaseName), stack: stack.move() };
}
