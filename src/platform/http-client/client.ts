/** Requests that we send because somebody asked us to: guarded addresses, bounded time and size, failures as data. */
import { isIP } from "node:net";
import { buildConnector } from "undici";
import { BlockedAddressError, type AddressGuard } from "./address-guard.ts";
import { ConnectionPool, type PoolStats } from "./connection-pool.ts";
import {
  sendRequest,
  type HttpClientLimits,
  type OutgoingRequest,
  type OutgoingResult,
  type RequestTarget,
} from "./request.ts";

const defaultLimits: HttpClientLimits = {
  connectMs: 5_000,
  totalMs: 15_000,
  readBytes: 16 * 1024,
  keepBytes: 4 * 1024,
  headerBytes: 16 * 1024,
  maxPerOrigin: 512,
  maxIdle: 1_024,
  keepAliveMs: 4_000,
};

export interface HttpClientOptions {
  guard: AddressGuard;
  limits?: Partial<HttpClientLimits>;
  /** Certificates of authorities to trust in place of Node's own, as PEM. */
  ca?: string;
}

export interface HttpClient extends AsyncDisposable {
  /** Never follows a redirect. Rejects only for a request that is itself malformed, such as a line break in a header. */
  post(request: OutgoingRequest): Promise<OutgoingResult>;
  readonly poolStats: PoolStats;
}

const MAX_CACHED_TARGETS = 10_000;

export function createHttpClient({ guard, limits: given, ca }: HttpClientOptions): HttpClient {
  const limits = { ...defaultLimits, ...given };
  const pool = new ConnectionPool({
    connector: guardedConnector(guard, limits.connectMs, ca),
    maxPerOrigin: limits.maxPerOrigin,
    maxIdle: limits.maxIdle,
    keepAliveMs: limits.keepAliveMs,
    maxHeaderBytes: limits.headerBytes,
  });
  /** URLs that have been checked and taken apart; what their names resolve to is checked at each connect. */
  const targets = new Map<string, RequestTarget>();

  return {
    async post(request) {
      let target = targets.get(request.url);
      if (!target) {
        const url = URL.parse(request.url);
        const problem = url ? guard.urlProblem(url) : { message: "is not a URL" };
        if (!url || problem) return blockedResult(problem?.message ?? "");
        if (targets.size >= MAX_CACHED_TARGETS) targets.clear();
        target = toTarget(url);
        targets.set(request.url, target);
      }
      return await sendRequest({ pool, limits, target, request });
    },
    get poolStats() {
      return pool.stats;
    },
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  };
}

function toTarget({ origin, pathname, search, host, protocol }: URL): RequestTarget {
  return { origin, path: pathname + search, host, secure: protocol === "https:" };
}

function blockedResult(problem: string): OutgoingResult {
  return {
    kind: "failure",
    class: "blocked_address",
    message: `The endpoint's URL ${problem}.`,
    durationMs: 0,
  };
}

/** Opens sockets to checked addresses only, and gives up on one that does not stand in time. */
function guardedConnector(
  guard: AddressGuard,
  timeoutMs: number,
  ca: string | undefined,
): buildConnector.connector {
  const connect = buildConnector({
    allowH2: false,
    lookup: guard.lookup,
    // Node gives each address of a name 250 ms, which a far continent does not manage.
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: 1_000,
    maxCachedSessions: 1_000,
    // Closes the socket of a connect that the exchange, which counts exactly, has given up: undici counts in half seconds.
    timeout: timeoutMs,
    ...(ca === undefined ? {} : { ca }),
  });
  return (options, callback) => {
    const host = options.hostname;
    // `net.connect` looks nothing up for a host that is an address.
    const blocked = isIP(host) === 0 ? null : guard.blockedReason(host);
    if (blocked === null) connect(options, callback);
    else callback(new BlockedAddressError(`must not point to ${host}, which is ${blocked}`), null);
  };
}
