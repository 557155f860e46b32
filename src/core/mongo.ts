/** The connection to MongoDB. It is opened in the background, so that the process runs without MongoDB too. */
import { setTimeout as pause } from "node:timers/promises";
import { MongoClient, MongoServerError, MongoServerSelectionError, type Db } from "mongodb";
import { StartupError } from "./errors.ts";
import { untilAborted, withTimeout } from "./concurrency/timeout.ts";

/** `starting`: the first attempt is in progress. `down`: unreachable, will be retried. `absent`: no MongoDB is configured. */
export type MongoState = "up" | "down" | "starting" | "absent";

export interface MongoStatus {
  readonly state: MongoState;
  /** Why it is not up, without URLs or secrets; null when it is up. */
  readonly message: string | null;
}

const DATABASE_NAME = "waymark";
const RETRY_DELAY_MS = 1_000;
const CLOSE_TIMEOUT_MS = 5_000;
const UNREACHABLE = "unreachable";

/** Used unless the URL sets them. */
const defaultOptions: Readonly<Record<string, string | number>> = {
  appName: "waymark",
  serverSelectionTimeoutMS: 2_500,
  connectTimeoutMS: 2_500,
  // The maximum delay until the driver notices that MongoDB is back.
  heartbeatFrequencyMS: 2_000,
  // A MongoDB that accepts a command and does not answer it.
  socketTimeoutMS: 5_000,
  waitQueueTimeoutMS: 5_000,
  maxPoolSize: 10,
};

/**
 * Starts connecting in the background. With `url` null there is no MongoDB. A rejected promise counts as no MongoDB; its
 * creator logs the error. Throws a StartupError if `url` is an invalid string.
 */
export function openMongo({ url }: { url: string | null | Promise<string> }): Mongo {
  return new Mongo(typeof url === "string" ? databaseAt(url) : url);
}

export class Mongo implements AsyncDisposable {
  readonly #disposed = new AbortController();
  readonly #connecting: Promise<void>;
  #client: MongoClient | null = null;
  #status: MongoStatus = { state: "starting", message: "is starting" };
  #up = Promise.withResolvers<Db>();

  constructor(source: Db | null | Promise<string>) {
    this.#connecting = this.#connectUntilUp(source);
  }

  status(): MongoStatus {
    return this.#status;
  }

  /**
   * Resolves once MongoDB accepts writes, with the database named in the URL (default `waymark`). Its `client` is shared by
   * the process and closed when this is disposed. Without MongoDB it waits forever; rejects when `signal` aborts or this is
   * disposed.
   */
  async waitUntilUp(signal?: AbortSignal): Promise<Db> {
    const { signal: disposed } = this.#disposed;
    const anySignal = signal ? AbortSignal.any([signal, disposed]) : disposed;
    const database = await untilAborted(this.#up.promise, anySignal);
    anySignal.throwIfAborted();
    return database as Db;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed.abort(new Error("The connection to MongoDB is closed."));
    // The first close ends a pending attempt; the second closes what that attempt had opened.
    await this.#close();
    await withTimeout(this.#connecting, CLOSE_TIMEOUT_MS);
    await this.#close();
  }

  /** After a lost connection, an operation of the driver may never settle. */
  async #close(): Promise<void> {
    if (this.#client) await withTimeout(this.#client.close(), CLOSE_TIMEOUT_MS).catch(() => undefined);
  }

  async #connectUntilUp(source: Db | null | Promise<string>): Promise<void> {
    const { signal } = this.#disposed;
    const database = source instanceof Promise ? await this.#databaseOf(source) : source;
    if (source === null) this.#status = { state: "absent", message: "no MongoDB is configured" };
    if (database === null || signal.aborted) return;
    this.#client = database.client;
    for (;;) {
      const failure = await connect(database.client);
      if (failure === null) break;
      this.#status = { state: "down", message: failure };
      await pause(RETRY_DELAY_MS, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
    }
    this.#follow(database, true);
    database.client.on("topologyDescriptionChanged", ({ newDescription }) =>
      this.#follow(
        database,
        [...newDescription.servers.values()].some((server) => server.isWritable),
      ),
    );
  }

  /** Returns null, and sets the status, if there is no MongoDB. Disposing does not wait for the URL. */
  async #databaseOf(source: Promise<string>): Promise<Db | null> {
    try {
      const url = await untilAborted(source, this.#disposed.signal);
      return url === undefined ? null : databaseAt(url);
    } catch {
      this.#status = { state: "absent", message: "could not be started" };
      return null;
    }
  }

  #follow(database: Db, isWritable: boolean): void {
    if (isWritable === (this.#status.state === "up")) return;
    this.#status = isWritable ? { state: "up", message: null } : { state: "down", message: UNREACHABLE };
    if (isWritable) this.#up.resolve(database);
    else this.#up = Promise.withResolvers();
  }
}

function databaseAt(url: string): Db {
  const lowerCaseUrl = url.toLowerCase();
  const missingOptions = Object.entries(defaultOptions).filter(
    ([name]) => !lowerCaseUrl.includes(`${name.toLowerCase()}=`),
  );
  const [, name = DATABASE_NAME] = /^[^:]+:\/\/[^/]+\/([^?]+)/.exec(url) ?? [];
  try {
    return new MongoClient(url, Object.fromEntries(missingOptions)).db(decodeURIComponent(name));
  } catch (error) {
    throw new StartupError(
      `MONGODB_URL is invalid: ${error instanceof Error ? error.message : "unknown"}.`,
      "Correct it. Example: MONGODB_URL=mongodb://user:password@mongo:27017/waymark?replicaSet=rs0",
      error,
    );
  }
}

/** Returns null once a writable server has accepted the connection, otherwise the reason. */
async function connect(client: MongoClient): Promise<string | null> {
  try {
    await client.connect();
    return null;
  } catch (error) {
    if (error instanceof MongoServerError) return `refuses the connection: ${error.codeName ?? "unknown"}`;
    if (!(error instanceof MongoServerSelectionError)) return UNREACHABLE;
    const isAnswering = [...(error.reason?.servers.values() ?? [])].some(({ error: failure }) => !failure);
    return isAnswering ? "has no writable server" : UNREACHABLE;
  }
}
