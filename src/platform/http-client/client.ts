/** The HTTP client for webhooks: checked IP addresses, limits on time and size, failures as results. */
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
  /** PEM certificates of the authorities to trust instead of Node's own. */
  ca?: string;
}

export interface HttpClient extends AsyncDisposable {
  /**
   * Sends the request without following redirects. Network failures are results. Rejects only for our own errors: a malformed
   * request, such as a line break in a header, or no free file descriptor, port or memory.
   */
  post(request: OutgoingRequest): Promise<OutgoingResult>;
  readonly poolStats: PoolStats;
}

const MAX_CACHED_TARGETS = 10_000;

export function createHttpClient({ guard, limits: overrides, ca }: HttpClientOptions): HttpClient {
  const limits = { ...defaultLimits, ...overrides };
  const pool = new ConnectionPool({
    connector: guardedConnector(guard, limits.connectMs, ca),
    maxPerOrigin: limits.maxPerOrigin,
    maxIdle: limits.maxIdle,
    keepAliveMs: limits.keepAliveMs,
    maxHeaderBytes: limits.headerBytes,
  });
  /** Parsed and checked URLs. The IP addresses of their hosts are checked at each connect. */
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

/** Returns a connector that opens sockets only to allowed IP addresses, within `timeoutMs`. */
function guardedConnector(
  guard: AddressGuard,
  timeoutMs: number,
  ca: string | undefined,
): buildConnector.connector {
  const connect = buildConnector({
    allowH2: false,
    lookup: guard.lookup,
    // Node's default of 250 ms per IP address is too short for distant servers.
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: 1_000,
    maxCachedSessions: 1_000,
    // Only closes the socket: undici's timers have a resolution of half a second, so `HttpCall` has an exact one.
    timeout: timeoutMs,
    ...(ca === undefined ? {} : { ca }),
  });
  return (options, callback) => {
    const host = options.hostname;
    // `net.connect` does not call `lookup` for an IP address.
    const blocked = isIP(host) === 0 ? null : guard.blockedReason(host);
    if (blocked === null) connect(options, callback);
    else callback(new BlockedAddressError(`must not point to ${host}, which is ${blocked}`), null);
  };
}
