/** The embedded MongoDB: one `mongod` for all processes that use a data folder. */
import { realpath } from "node:fs/promises";
import { MINUTE_MS } from "../../platform/time.ts";
import { prepareDataFolder } from "../data-folder.ts";
import { shareServer, type SharedServer } from "../shared-server.ts";
import { folderError } from "../system-errors.ts";
import { findMongodBinary, type MongodSources } from "./binary.ts";
import { mongoUrl, waitUntilWritable } from "./connect.ts";
import { findMongod, prepareMongoFolder, startMongod, stopMongod } from "./mongod.ts";

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
/** Long, because the API serves requests while MongoDB starts. */
const reportAfterMs = 10_000;

/** Starts or joins MongoDB in the background and returns immediately. */
export function openEmbeddedMongo(options: EmbeddedMongoOptions): EmbeddedMongo {
  const stopping = new AbortController();
  const opening = startOrJoin(options, stopping).catch((error: unknown) => {
    throw stopping.signal.aborted ? error : folderError(options.dataDir, error);
  });
  const url = opening.then((opened) => opened.url);
  // Callers of `url` handle the rejection; without a handler it would end the process.
  url.catch(() => undefined);
  return {
    url,
    async [Symbol.asyncDispose]() {
      stopping.abort();
      const opened = await opening.catch(() => null);
      await opened?.shared[Symbol.asyncDispose]();
    },
  };
}

async function startOrJoin(
  options: EmbeddedMongoOptions,
  stopping: AbortController,
): Promise<{ url: string; shared: SharedServer }> {
  const { dataDir, onProgress = () => undefined } = options;
  await prepareDataFolder(dataDir);
  const folder = await prepareMongoFolder(await realpath(dataDir));
  let binary: string | null = null;
  const findBinary = async (): Promise<string> =>
    (binary ??= await findMongodBinary(options, onProgress, stopping.signal));
  // Find or download the executable before taking the lock, so that other processes need not wait for a download.
  if ((await findMongod(folder)) === null) await findBinary();
  const shared = await shareServer(
    {
      name: "MongoDB",
      filePrefix: "mongo",
      dataDir: folder.dataDir,
      find: () => findMongod(folder),
      start: async (wait) => startMongod(folder, await findBinary(), wait),
      connect: (wait) => waitUntilWritable(folder, wait),
      stop: () => stopMongod(folder),
    },
    {
      exclusive: false,
      stopping,
      onProgress,
      reportAfterMs,
      timeoutMs: MINUTE_MS,
      hint: `Check ${folder.logFile}, then try again.`,
    },
  );
  return { url: mongoUrl(folder, databaseName), shared };
}
