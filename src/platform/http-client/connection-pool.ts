/**
 * Connections to many origins, each for one request at a time: kept open for the next one, bounded for each origin and in
 * all. undici's own pool does not tell which connection a request takes, and that is what a stale one is known by.
 */
import { Client, type buildConnector } from "undici";

export interface PooledConnection {
  readonly client: Client;
  readonly origin: Origin;
  /** Whether it stands, TLS included. */
  connected: boolean;
  /** Requests that were answered over it since it was opened: above 0, it may have gone stale. */
  requestCount: number;
  /** Whether a request has it. */
  busy: boolean;
}

/** Gets a connection, now or when one comes free. */
export type OnAcquired = (connection: PooledConnection) => void;

interface Origin {
  readonly name: string;
  open: number;
  /** The one that was used last is at the end and goes first, so that what is not needed falls idle. */
  readonly free: PooledConnection[];
  readonly waiting: OnAcquired[];
}

export interface PoolStats {
  origins: number;
  open: number;
  idle: number;
}

export interface PoolOptions {
  connector: buildConnector.connector;
  maxPerOrigin: number;
  /** Open and unused, over all origins; past that the longest unused is closed. */
  maxIdle: number;
  /** How long one stays open unused, where the server does not say. */
  keepAliveMs: number;
  maxHeaderBytes: number;
}

/** A server's own `Keep-Alive: timeout` is believed up to here, and this much is taken off it. */
const KEEP_ALIVE_MAX_MS = 60_000;
const KEEP_ALIVE_MARGIN_MS = 1_000;
/** Names are resolved when a connection opens: after so many requests a receiver that has moved is found again. */
const MAX_REQUESTS_PER_CONNECTION = 1_000;

export class ConnectionPool implements AsyncDisposable {
  readonly #options: PoolOptions;
  readonly #origins = new Map<string, Origin>();
  readonly #open = new Set<PooledConnection>();
  /** In the order in which they fell idle. */
  readonly #idle = new Set<PooledConnection>();

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  get stats(): PoolStats {
    return { origins: this.#origins.size, open: this.#open.size, idle: this.#idle.size };
  }

  /** A free connection, or a new one that connects with its first request. `fresh`: none that has served before. */
  acquire(name: string, fresh: boolean, onAcquired: OnAcquired): void {
    const origin = this.#originOf(name);
    const free = fresh ? undefined : origin.free.pop();
    if (free) {
      this.#idle.delete(free);
      free.busy = true;
      onAcquired(free);
    } else if (fresh || origin.open < this.#options.maxPerOrigin) {
      onAcquired(this.#add(origin));
    } else {
      origin.waiting.push(onAcquired);
    }
  }

  /** Its request was answered in full. */
  release(connection: PooledConnection): void {
    connection.requestCount += 1;
    const { origin } = connection;
    const next = origin.waiting.shift();
    if (next) {
      next(connection);
      return;
    }
    connection.busy = false;
    origin.free.push(connection);
    this.#idle.add(connection);
    if (this.#idle.size > this.#options.maxIdle) this.#removeOldest();
  }

  /** Its request was not answered in full, so nothing more can be asked over it. */
  discard(connection: PooledConnection): void {
    if (!this.#open.delete(connection)) return;
    const { origin } = connection;
    origin.open -= 1;
    if (this.#idle.delete(connection)) origin.free.splice(origin.free.indexOf(connection), 1);
    // Not from within undici's own event, which still looks at the client.
    queueMicrotask(() => void connection.client.destroy());
    const next = origin.waiting.shift();
    if (next) next(this.#add(origin));
    else if (origin.open === 0) this.#origins.delete(origin.name);
  }

  /** Waits for the requests that are under way. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const connection of this.#idle) this.discard(connection);
    await Promise.all(Array.from(this.#open, ({ client }) => client.close()));
  }

  #originOf(name: string): Origin {
    const known = this.#origins.get(name);
    if (known) return known;
    const origin: Origin = { name, open: 0, free: [], waiting: [] };
    this.#origins.set(name, origin);
    return origin;
  }

  #add(origin: Origin): PooledConnection {
    const client = openClient(origin.name, this.#options);
    const connection: PooledConnection = { client, origin, connected: false, requestCount: 0, busy: true };
    origin.open += 1;
    this.#open.add(connection);
    client.on("connect", () => {
      connection.connected = true;
    });
    client.on("disconnect", () => {
      connection.connected = false;
      connection.requestCount = 0;
      if (!connection.busy) this.discard(connection);
    });
    return connection;
  }

  #removeOldest(): void {
    const [oldest] = this.#idle;
    if (oldest) this.discard(oldest);
  }
}

function openClient(origin: string, { connector, keepAliveMs, maxHeaderBytes }: PoolOptions): Client {
  return new Client(origin, {
    connect: connector,
    pipelining: 1,
    allowH2: false,
    // One timer of the exchange covers both.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: keepAliveMs,
    keepAliveMaxTimeout: KEEP_ALIVE_MAX_MS,
    keepAliveTimeoutThreshold: KEEP_ALIVE_MARGIN_MS,
    maxRequestsPerClient: MAX_REQUESTS_PER_CONNECTION,
    maxHeaderSize: maxHeaderBytes,
  });
}
