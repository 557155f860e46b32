/**
 * Reads the API key of a REST or GraphQL request from `x-api-key` or `Authorization: Bearer`, and verifies its secret, expiry,
 * suspension and allowed IP addresses. Keys are cached in memory.
 */
import { timingSafeEqual } from "node:crypto";
import { createCidrMatcher } from "../core/cidr.ts";
import type { Clock } from "../core/clock.ts";
import { singleFlightByKey } from "../core/concurrency/single-flight.ts";
import { AppError } from "../core/errors.ts";
import { networkOf } from "../core/network.ts";
import type { Queryable } from "../core/postgres/database.ts";
import type { OperatorPrincipal, OrganizationPrincipal } from "../core/principal.ts";
import { createMemoryStore, limitHeaders, type RateLimitOverrides } from "../rate-limits/api.ts";
import type { Scope } from "./entity.ts";
import { hashKey, parsePrefix, unauthorized } from "./format.ts";
import { selectAccessRevision, selectKey, updateLastUsed, type KeyRow } from "./api-key.sql.ts";

interface KeyAuthorization {
  readonly keyId: string;
  /** Names the token buckets: a key and the keys that replaced it by rotation share them. */
  readonly rateBucket: string;
  readonly scopes: readonly Scope[];
  readonly rateLimits: RateLimitOverrides | null;
}

export interface OrganizationKeyPrincipal extends OrganizationPrincipal, KeyAuthorization {
  readonly organizationName: string;
}
export interface OperatorKeyPrincipal extends OperatorPrincipal, KeyAuthorization {
  readonly organizationName: null;
}
export type ApiKeyPrincipal = OrganizationKeyPrincipal | OperatorKeyPrincipal;

export interface KeyVerifier extends AsyncDisposable {
  /**
   * `text`: the key; `ipAddress`: the client's IP address. Throws UnauthorizedException for an unknown, expired or revoked key,
   * ForbiddenException if the IP address is outside its ranges or the organisation is suspended, and TooManyRequestsException
   * after too many unknown keys from the same network.
   */
  verify(text: string, ipAddress: string): Promise<ApiKeyPrincipal>;
  /** Saves when keys were last used, at most once a minute per key across all processes. */
  flushLastUsed(): Promise<void>;
}

export function createKeyVerifier({ database, clock }: { database: Queryable; clock: Clock }): KeyVerifier {
  const cache = new KeyCache(database);
  const limitUnknownKeys = createUnknownKeyLimit(clock);
  // Many first requests of a key share one look-up, and so one token of the limit. A network's limit is its own.
  const loadUnknown = singleFlightByKey((request: string) => {
    const [ipAddress = "", prefix = ""] = request.split(" ");
    return limitUnknownKeys(ipAddress, () => cache.load(prefix));
  });

  const find = async (prefix: string, ipAddress: string): Promise<CachedKey | null> =>
    cache.get(prefix) ??
    (await (cache.isKnown(prefix) ? cache.load(prefix) : loadUnknown(`${ipAddress} ${prefix}`)));

  /** Times of last use by key id, not saved yet. */
  const unsavedUses = new Map<string, number>();

  const flushLastUsed = async (): Promise<void> => {
    const uses = [...unsavedUses];
    if (uses.length === 0) return;
    await updateLastUsed(database, uses);
    for (const [id, ms] of uses) if (unsavedUses.get(id) === ms) unsavedUses.delete(id);
  };

  return {
    async verify(text, ipAddress) {
      const prefix = parsePrefix(text);
      const key = prefix === null ? null : await find(prefix, ipAddress);
      if (!key || !timingSafeEqual(key.hash, hashKey(text))) throw unauthorized("The API key is not valid");
      if (key.expiresAtMs <= clock.now()) throw unauthorized("The API key has expired");
      if (key.suspended) throw new AppError("ForbiddenException", "The organisation is suspended");
      if (!key.isAllowedFrom(ipAddress))
        throw new AppError("ForbiddenException", "The API key may not be used from this IP address");
      unsavedUses.set(key.principal.keyId, clock.now());
      return key.principal;
    },
    flushLastUsed,
    async [Symbol.asyncDispose]() {
      cache[Symbol.dispose]();
      await flushLastUsed().catch(() => undefined);
    },
  };
}

/** Per IPv4 address or IPv6 /64, and process. */
export const unknownKeyRate = { perSecond: 20, burst: 100 } as const;

/**
 * Limits look-ups of unknown keys in PostgreSQL per network. The checksum isn't secret, so anyone can make up well-formed
 * keys that only the database can reject. Keys that the cache knows are not affected. The returned function runs `find` for a request
 * from an IP address, and throws TooManyRequestsException if its network exceeds the limit.
 */
function createUnknownKeyLimit(clock: Clock) {
  const store = createMemoryStore(clock);
  return async <Key>(ipAddress: string, find: () => Promise<Key | null>): Promise<Key | null> => {
    const bucket = { id: networkOf(ipAddress), limit: unknownKeyRate };
    const [taken] = await store.take([bucket], 1);
    if (taken?.allowed === false) {
      const limits = limitHeaders([{ ...taken, name: "unknown-keys", limit: unknownKeyRate }]);
      throw new AppError(
        "TooManyRequestsException",
        "Too many requests from this IP address came with unknown API keys. Try again in 1 s.",
        { headers: { "Retry-After": "1", ...limits } },
      );
    }
    let isUnknown = false;
    try {
      const key = await find();
      isUnknown = key === null;
      return key;
    } finally {
      if (!isUnknown) await store.take([bucket], -1);
    }
  };
}

interface CachedKey {
  readonly principal: ApiKeyPrincipal;
  readonly hash: Buffer;
  readonly expiresAtMs: number;
  readonly suspended: boolean;
  readonly isAllowedFrom: (ipAddress: string) => boolean;
}

export const POLL_INTERVAL_MS = 400;
const TTL_MS = 900;
const MAX_CACHED_KEYS = 50_000;

/**
 * Keys in memory. Every 400 ms it polls the access revision, and drops all keys if it has changed. It serves keys only while the last
 * poll is fresh, so every process rejects a revoked key within a second, even without its database.
 */
class KeyCache implements Disposable {
  readonly #database: Queryable;
  /** By prefix. Null: known, but to be read again. */
  readonly #keys = new Map<string, CachedKey | null>();
  #revision: number | null = null;
  /** On the monotonic clock, so that setting the wall clock back doesn't extend it. */
  #validUntilMs = 0;
  readonly #timer: NodeJS.Timeout;

  constructor(database: Queryable) {
    this.#database = database;
    // A failed poll needs no log entry: the cache expires, and the next request queries the database itself.
    this.#timer = setInterval(() => void this.#poll().catch(() => undefined), POLL_INTERVAL_MS).unref();
  }

  /** Returns null if the cache doesn't have the key: call `load`. */
  get(prefix: string): CachedKey | null {
    return performance.now() < this.#validUntilMs ? (this.#keys.get(prefix) ?? null) : null;
  }

  /** True if a look-up found a key with this prefix. */
  isKnown(prefix: string): boolean {
    return this.#keys.has(prefix);
  }

  /** Reads the unrevoked key from PostgreSQL and caches it. Null if there is none. Concurrent calls share a statement. */
  readonly load = singleFlightByKey(async (prefix: string): Promise<CachedKey | null> => {
    const before = this.#revision;
    const row = await selectKey(this.#database, prefix);
    if (!row) {
      this.#keys.delete(prefix);
      return null;
    }
    if (this.#keys.size >= MAX_CACHED_KEYS) this.#keys.clear();
    const key = toCachedKey(row);
    // If the revision changed during the query, the row may be outdated.
    this.#keys.set(prefix, before === this.#revision ? key : null);
    return key;
  });

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  async #poll(): Promise<void> {
    const startedMs = performance.now();
    const revision = await selectAccessRevision(this.#database);
    if (revision !== this.#revision) for (const prefix of this.#keys.keys()) this.#keys.set(prefix, null);
    this.#revision = revision;
    this.#validUntilMs = startedMs + TTL_MS;
  }
}

function toCachedKey({
  secretHash: hash,
  expiresAt,
  suspended,
  cidrs,
  liveOrganizationId,
  timeZone,
  ...key
}: KeyRow): CachedKey {
  const isOperatorKey = key.organizationId === null;
  const principal = {
    ...key,
    liveOrganizationId: liveOrganizationId ?? undefined,
    timeZone: timeZone ?? undefined,
    actor: { type: "key", id: key.keyId, ...(isOperatorKey && { isOperatorKey }) },
  };
  return {
    principal: principal as ApiKeyPrincipal,
    hash,
    expiresAtMs: expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt),
    suspended,
    isAllowedFrom: cidrs === null ? () => true : createCidrMatcher(cidrs),
  };
}
