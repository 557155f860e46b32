/** MongoDB: one connection that is looked for in the background, kept, and never the end of the program. */
import { setTimeout as pause } from "node:timers/promises";
import { MongoClient, MongoServerError, MongoServerSelectionError, type Db } from "mongodb";
import { StartupError } from "./errors.ts";

/** `starting`: no attempt has ended yet. `down`: out of reach, and tried again. `absent`: there is none to look for. */
export type MongoState = "up" | "down" | "starting" | "absent";

export interface MongoStatus {
  readonly state: MongoState;
  /** Why it is not up, in a few words or a sentence, without addresses or secrets; null when it is up. */
  readonly message: string | null;
}

export interface Mongo extends AsyncDisposable {
  status(): MongoStatus;
  /**
   * The database that the address names (`waymark` where it names none), once MongoDB takes writes; its `client` is the
   * one connection of this process and is closed by disposing this. Waits while MongoDB is away, for ever where there is
   * none; rejects with the reason of `signal`, or when this is disposed.
   */
  waitUntilUp(signal?: AbortSignal): Promise<Db>;
}

export interface MongoOptions {
  /**
   * Null: there is none, and `absent` says why. A promise may take its time; should it be rejected, there is none either,
   * and whoever made the promise says why.
   */
  readonly url: string | null | Promise<string | null>;
  /** Shown as the status where `url` is null. */
  readonly absentMessage?: string;
}

const DATABASE_NAME = "waymark";
const RETRY_DELAY_MS = 1_000;
const UNREACHABLE = "out of reach";

/** Where the address does not say otherwise. */
const defaultOptions: Readonly<Record<string, string | number>> = {
  appName: "waymark",
  serverSelectionTimeoutMS: 2_500,
  connectTimeoutMS: 2_500,
  // How soon one that is back is noticed; its going is noticed at once.
  heartbeatFrequencyMS: 2_000,
  maxPoolSize: 10,
};

/** Begins to look for MongoDB and returns at once. Throws a StartupError where an address given as text is no address. */
export function openMongo({ url, absentMessage = "no MongoDB is set up" }: MongoOptions): Mongo {
  return new MongoConnection(typeof url === "string" ? createClient(url) : url, absentMessage);
}

type UrlSource = NamedDatabase | null | Promise<string | null>;

interface NamedDatabase {
  readonly client: MongoClient;
  readonly name: string;
}

class MongoConnection implements Mongo {
  readonly #disposed = new AbortController();
  readonly #connecting: Promise<void>;
  #client: MongoClient | null = null;
  #status: MongoStatus = { state: "starting", message: "is starting" };
  #up = Promise.withResolvers<Db>();

  constructor(given: UrlSource, absent: string) {
    this.#connecting = this.#connectUntilUp(given, absent);
  }

  status(): MongoStatus {
    return this.#status;
  }

  async waitUntilUp(signal?: AbortSignal): Promise<Db> {
    const ends = signal ? AbortSignal.any([signal, this.#disposed.signal]) : this.#disposed.signal;
    return await rejectOnAbort(ends, this.#up.promise);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed.abort(new Error("The connection to MongoDB is closed."));
    // The first ends an attempt that is under way, the second what that attempt had opened by then.
    await this.#client?.close().catch(() => undefined);
    await this.#connecting;
    await this.#client?.close().catch(() => undefined);
  }

  async #connectUntilUp(given: UrlSource, absent: string): Promise<void> {
    const database = await this.#databaseOf(given, absent);
    if (database === null || this.#disposed.signal.aborted) return;
    this.#client = database.client;
    const follow = this.#followTopology(database);
    while (!this.#disposed.signal.aborted) {
      const failure = await connect(database.client);
      if (failure === null) {
        follow();
        return;
      }
      this.#status = { state: "down", message: failure };
      await pause(RETRY_DELAY_MS, undefined, { signal: this.#disposed.signal }).catch(() => undefined);
    }
  }

  /** Null: there is none, and the status says why. */
  async #databaseOf(given: UrlSource, absent: string): Promise<NamedDatabase | null> {
    if (given !== null && "client" in given) return given;
    try {
      // Who stops meanwhile does not wait for it.
      const url = await rejectOnAbort(this.#disposed.signal, Promise.resolve(given));
      if (url !== null) return createClient(url);
      this.#status = { state: "absent", message: absent };
    } catch {
      this.#status = { state: "absent", message: "could not be started" };
    }
    return null;
  }

  /**
   * The driver watches the servers, and tells what it sees through a loss and a return alike. Only what comes after the
   * returned function was called counts, and what was seen last: before it no server has accepted us.
   */
  #followTopology({ client, name }: NamedDatabase): () => void {
    let isAccepted = false;
    let isWritable = false;
    const judge = (): void => {
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
      judge();
    });
    return () => {
      isAccepted = true;
      judge();
    };
  }
}

function createClient(url: string): NamedDatabase {
  const given = url.toLowerCase();
  const missing = Object.entries(defaultOptions).filter(
    ([name]) => !given.includes(`${name.toLowerCase()}=`),
  );
  const [, name] = /^[^:]+:\/\/[^/]+\/([^?]+)/.exec(url) ?? [];
  try {
    const client = new MongoClient(url, Object.fromEntries(missing));
    return { client, name: name === undefined ? DATABASE_NAME : decodeURIComponent(name) };
  } catch (error) {
    throw new StartupError(
      `MONGODB_URL is not an address that MongoDB's driver takes: ${error instanceof Error ? error.message : "unknown"}.`,
      "Correct it; an example: MONGODB_URL=mongodb://user:password@mongo:27017/waymark?replicaSet=rs0",
      error,
    );
  }
}

/** Null once a server that takes writes has accepted us; else why not. */
async function connect(client: MongoClient): Promise<string | null> {
  try {
    await client.connect();
    return null;
  } catch (error) {
    if (error instanceof MongoServerError) return `refuses Waymark: ${error.codeName ?? "unknown"}`;
    if (!(error instanceof MongoServerSelectionError)) return UNREACHABLE;
    const isAnswering = [...(error.reason?.servers.values() ?? [])].some(({ error: failure }) => !failure);
    return isAnswering ? "has no server that takes writes" : UNREACHABLE;
  }
}

async function rejectOnAbort<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason as Error);
  signal.addEventListener("abort", abort);
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
