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
export function openMongo({ url }: { url: string | null | Promise<string | null> }): Mongo {
  return new Mongo(typeof url === "string" ? createClient(url) : url);
}

type UrlSource = NamedDatabase | null | Promise<string | null>;

interface NamedDatabase {
  readonly client: MongoClient;
  readonly name: string;
}

export class Mongo implements AsyncDisposable {
  readonly #disposed = new AbortController();
  readonly #connecting: Promise<void>;
  #client: MongoClient | null = null;
  #status: MongoStatus = { state: "starting", message: "is starting" };
  #up = Promise.withResolvers<Db>();

  constructor(source: UrlSource) {
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
    const abortSignal = signal ? AbortSignal.any([signal, this.#disposed.signal]) : this.#disposed.signal;
    return await rejectOnAbort(abortSignal, this.#up.promise);
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

  async #connectUntilUp(source: UrlSource): Promise<void> {
    const database = await this.#databaseOf(source);
    if (database === null || this.#disposed.signal.aborted) return;
    this.#client = database.client;
    const startFollowing = this.#followTopology(database);
    while (!this.#disposed.signal.aborted) {
      const failure = await connect(database.client);
      if (failure === null) {
        startFollowing();
        return;
      }
      this.#status = { state: "down", message: failure };
      await pause(RETRY_DELAY_MS, undefined, { signal: this.#disposed.signal }).catch(() => undefined);
    }
  }

  /** Returns null, and sets the status, if there is no MongoDB. */
  async #databaseOf(source: UrlSource): Promise<NamedDatabase | null> {
    if (source !== null && "client" in source) return source;
    try {
      // Disposing must not wait for the URL.
      const url = await rejectOnAbort(this.#disposed.signal, Promise.resolve(source));
      if (url !== null) return createClient(url);
      this.#status = { state: "absent", message: "no MongoDB is configured" };
    } catch {
      this.#status = { state: "absent", message: "could not be started" };
    }
    return null;
  }

  /**
   * Sets the status from the driver's view of the servers, across outages. Events count only once the returned function was
   * called, because a writable server may still reject our credentials.
   */
  #followTopology({ client, name }: NamedDatabase): () => void {
    let isAccepted = false;
    let isWritable = false;
    const updateStatus = (): void => {
      if (!isAccepted || isWritable === (this.#status.state === "up")) return;
      if (isWritable) {
        this.#status = { state: "up", message: null };
        this.#up.resolve(client.db(name));
      } else {
        this.#status = { state: "down", message: UNREACHABLE };
        this.#up = Promise.withResolvers();
      }
    };
    client.on("topologyDescriptionChanged", ({ newDescription }) => {
      isWritable = [...newDescription.servers.values()].some((server) => server.isWritable);
      updateStatus();
    });
    return () => {
      isAccepted = true;
      updateStatus();
    };
  }
}

function createClient(url: string): NamedDatabase {
  const lowerCaseUrl = url.toLowerCase();
  const missingOptions = Object.entries(defaultOptions).filter(
    ([name]) => !lowerCaseUrl.includes(`${name.toLowerCase()}=`),
  );
  const [, name] = /^[^:]+:\/\/[^/]+\/([^?]+)/.exec(url) ?? [];
  try {
    const client = new MongoClient(url, Object.fromEntries(missingOptions));
    return { client, name: name === undefined ? DATABASE_NAME : decodeURIComponent(name) };
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

async function rejectOnAbort<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  signal.throwIfAborted();
  return await untilAborted(work, signal, (): never => {
    throw signal.reason;
  });
}
