/**
 * A pool of keep-alive connections to many origins, one request at a time on each, with limits per origin and in total.
 * undici's own pool does not show which connection a request uses, which is needed to detect stale connections.
 */
import type { Socket } from "node:net";
import { Client, type buildConnector } from "undici";
import { MINUTE_MS } from "../time.ts";

export interface PooledConnection {
  readonly client: Client;
  readonly origin: Origin;
  /** Requests answered since it was opened. Above 0, the server may have closed it meanwhile. */
  requestCount: number;
  /** How many interim responses may still come before the final one. Set it for each request. */
  skippable: number;
}

/** Called with a connection, immediately or when one becomes free. */
export type OnAcquired = (connection: PooledConnection) => void;

interface Origin {
  readonly name: string;
  open: number;
  /** A stack: the most recently used connection is reused first, so that surplus ones become idle. */
  readonly free: PooledConnection[];
  readonly waiting: OnAcquired[];
}

export interface PoolLimits {
  maxPerOrigin: number;
  /** Maximum idle connections over all origins. Beyond it the one that was idle longest is closed. */
  maxIdle: number;
  /** How long an idle connection stays open if the server sends no `Keep-Alive` timeout. */
  keepAliveMs: number;
  headerBytes: number;
}

/** Upper limit for a server's `Keep-Alive: timeout`, and the safety margin subtracted from it. */
const KEEP_ALIVE_MAX_MS = MINUTE_MS;
const KEEP_ALIVE_MARGIN_MS = 1_000;
/** Names are resolved only when a connection opens, so connections are renewed to notice a changed IP address. */
const MAX_REQUESTS_PER_CONNECTION = 1_000;

export class ConnectionPool implements AsyncDisposable {
  readonly #connector: buildConnector.connector;
  readonly #limits: PoolLimits;
  readonly #origins = new Map<string, Origin>();
  readonly #open = new Set<PooledConnection>();
  /** In the order in which they became idle. */
  readonly #idle = new Set<PooledConnection>();

  constructor(connector: buildConnector.connector, limits: PoolLimits) {
    this.#connector = connector;
    this.#limits = limits;
  }

  get stats() {
    return { origins: this.#origins.size, open: this.#open.size, idle: this.#idle.size };
  }

  /** Passes a free connection or a new, not yet connected one to `onAcquired`. With `fresh`, always a new one. */
  acquire(name: string, fresh: boolean, onAcquired: OnAcquired): void {
    const origin = this.#originOf(name);
    const free = fresh ? undefined : origin.free.pop();
    if (free) {
      this.#idle.delete(free);
      onAcquired(free);
    } else if (fresh || origin.open < this.#limits.maxPerOrigin) {
      onAcquired(this.#add(origin));
    } else {
      origin.waiting.push(onAcquired);
    }
  }

  /** Returns a connection whose response was received completely. */
  release(connection: PooledConnection): void {
    connection.requestCount += 1;
    const { origin } = connection;
    const next = origin.waiting.shift();
    if (next) {
      next(connection);
      return;
    }
    origin.free.push(connection);
    this.#idle.add(connection);
    const [oldest] = this.#idle;
    if (oldest && this.#idle.size > this.#limits.maxIdle) this.discard(oldest);
  }

  /** Closes a connection whose response is incomplete. */
  discard(connection: PooledConnection): void {
    if (!this.#open.delete(connection)) return;
    const { origin } = connection;
    origin.open -= 1;
    if (this.#idle.delete(connection)) origin.free.splice(origin.free.indexOf(connection), 1);
    // Deferred, because undici still uses the client while it emits the current event.
    queueMicrotask(() => void connection.client.destroy());
    const next = origin.waiting.shift();
    if (next) next(this.#add(origin));
    else if (origin.open === 0) this.#origins.delete(origin.name);
  }

  /** Closes idle connections, and waits for requests in flight. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const connection of this.#idle) this.discard(connection);
    await Promise.all(Array.from(this.#open, ({ client }) => client.close()));
  }

  #originOf(name: string): Origin {
    const existing = this.#origins.get(name);
    if (existing) return existing;
    const origin: Origin = { name, open: 0, free: [], waiting: [] };
    this.#origins.set(name, origin);
    return origin;
  }

  #add(origin: Origin): PooledConnection {
    const connect: buildConnector.connector = (options, callback) =>
      this.#connector(options, (...result) => {
        if (result[1]) skipInterim(result[1], connection, this.#limits.headerBytes);
        callback(...result);
      });
    const client = this.#createClient(origin.name, connect);
    const connection: PooledConnection = { client, origin, requestCount: 0, skippable: 0 };
    origin.open += 1;
    this.#open.add(connection);
    client.on("disconnect", () => {
      connection.requestCount = 0;
      if (this.#idle.has(connection)) this.discard(connection);
    });
    return connection;
  }

  #createClient(origin: string, connect: buildConnector.connector): Client {
    const { keepAliveMs, headerBytes } = this.#limits;
    return new Client(origin, {
      connect,
      pipelining: 1,
      allowH2: false,
      // `HttpCall` has one timer for both.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: keepAliveMs,
      keepAliveMaxTimeout: KEEP_ALIVE_MAX_MS,
      keepAliveTimeoutThreshold: KEEP_ALIVE_MARGIN_MS,
      maxRequestsPerClient: MAX_REQUESTS_PER_CONNECTION,
      maxHeaderSize: headerBytes,
    });
  }
}

const INTERIM = "HTTP/1.1 1";
const SWITCHING_PROTOCOLS = "HTTP/1.1 101";
const HEAD_END = "\r\n\r\n";
const NOTHING: Buffer = Buffer.alloc(0);

/**
 * Drops interim responses before the final one. A server may send `100 Continue` unasked (RFC 9110, 15.2), and undici would end the
 * connection. Waits for the rest of a head of up to `maxBytes`.
 */
function skipInterim(socket: Socket, connection: PooledConnection, maxBytes: number): void {
  const read = socket.read.bind(socket) as (size?: number) => Buffer | null;
  let held: Buffer = NOTHING;
  socket.read = (size?: number): Buffer | null => {
    let bytes = read(size);
    while (bytes !== null && connection.skippable > 0) {
      if (held.length > 0) bytes = Buffer.concat([held, bytes]);
      const end = endOfInterim(bytes);
      const waits = end === null && bytes.length <= maxBytes;
      held = waits ? bytes : NOTHING;
      if (end) connection.skippable -= 1;
      else if (!waits) connection.skippable = 0;
      bytes = waits ? NOTHING : bytes.subarray(end ?? 0);
      if (bytes.length === 0) bytes = read(size);
    }
    return bytes;
  };
}

/** Returns the length of an interim response at the start of `bytes`: 0 for none, null if more bytes are needed to tell. */
function endOfInterim(bytes: Buffer): number | null {
  const start = bytes.toString("latin1", 0, SWITCHING_PROTOCOLS.length);
  const isInterim = start.startsWith(INTERIM) && start !== SWITCHING_PROTOCOLS;
  if (!isInterim) return start.length < INTERIM.length && INTERIM.startsWith(start) ? null : 0;
  const end = bytes.indexOf(HEAD_END);
  return end === -1 ? null : end + HEAD_END.length;
}
