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
import {
  selectAccessRevision,
  selectChangedPrefixes,
  selectKey,
  updateLastUsed,
  type KeyRow,
} from "./api-key.sql.ts";

/** The part that all key principals share. */
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

  const find = async (prefix: string, ipAddress: string): Promise<CachedKey | null> => {
    const cached = cache.get(prefix);
    if (cached !== undefined) return cached;
    if (cache.isKnown(prefix)) return await cache.load(prefix);
    return await loadUnknown(`${ipAddress} ${prefix}`);
  };

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
/** Without requests for this long, polls stop until the next request. */
const IDLE_AFTER_MS = 10_000;
const MAX_CACHED_KEYS = 50_000;
/** Look-ups that found no key are cached for this long; at most MAX_MISSES of them, the latest. */
const MISS_TTL_MS = 10_000;
const MAX_MISSES = 10_000;
/** Changed keys that one poll drops one by one. If more changed, it drops all keys. */
const MAX_CHANGED_PER_POLL = 1_000;

/**
 * Keys in memory. Every 400 ms it polls the access revision and drops keys that changed since, unless no key was used for 10 s.
 * It serves keys only while the last poll is fresh, so every process rejects a revoked key within a second, even without its
 * database.
 */
class KeyCache implements Disposable {
  readonly #database: Queryable;
  /** By prefix, latest last. Null: created or changed since it was read. */
  readonly #keys = new Map<string, CachedKey | null>();
  /** When each miss expires, by prefix. */
  readonly #misses = new Map<string, number>();
  #revision: number | null = null;
  /** On the monotonic clock, so that setting the wall clock back doesn't extend it. */
  #validUntilMs = 0;
  #lastUsedMs = performance.now();
  readonly #timer: NodeJS.Timeout;

  constructor(database: Queryable) {
    this.#database = database;
    this.#timer = setInterval(() => {
      if (performance.now() < this.#lastUsedMs + IDLE_AFTER_MS) this.#startPoll();
    }, POLL_INTERVAL_MS).unref();
  }

  /** Returns the unrevoked key with this prefix, null if there is none, undefined if the cache can't tell: call `load`. */
  get(prefix: string): CachedKey | null | undefined {
    const nowMs = performance.now();
    if (nowMs >= this.#lastUsedMs + IDLE_AFTER_MS) this.#startPoll();
    this.#lastUsedMs = nowMs;
    if (nowMs >= this.#validUntilMs) return undefined;
    return this.#keys.get(prefix) ?? ((this.#misses.get(prefix) ?? 0) > nowMs ? null : undefined);
  }

  /** True if a poll or look-up found a key with this prefix. False for an older key that was not used since the start. */
  isKnown(prefix: string): boolean {
    return this.#keys.has(prefix);
  }

  /** Reads the key from PostgreSQL and caches it. Null if no key has the prefix. Concurrent calls share a statement. */
  readonly load = singleFlightByKey((prefix: string) => this.#read(prefix));

  async #read(prefix: string): Promise<CachedKey | null> {
    const before = this.#revision;
    const row = await selectKey(this.#database, prefix);
    const key = row ? toCachedKey(row) : null;
    if (!key) {
      this.#keys.delete(prefix);
      setLatest(this.#misses, prefix, performance.now() + MISS_TTL_MS, MAX_MISSES);
    } else if (before === this.#revision) setLatest(this.#keys, prefix, key, MAX_CACHED_KEYS);
    // Otherwise the row may be outdated: the revision changed during the query.
    return key;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  /** A failed poll needs no log entry: the cache expires, and the next request queries the database itself. */
  #startPoll(): void {
    void this.#poll().catch(() => undefined);
  }

  async #poll(): Promise<void> {
    const startedMs = performance.now();
    const read = await selectAccessRevision(this.#database);
    if (read !== this.#revision) {
      const changed = await changedSince(this.#database, { revision: this.#revision, read });
      for (const prefix of changed ?? [...this.#keys.keys()])
        setLatest(this.#keys, prefix, null, MAX_CACHED_KEYS);
      this.#revision = read;
    }
    this.#validUntilMs = startedMs + TTL_MS;
  }
}

/** Adds an entry, or makes it the latest of the map. Drops the oldest of more than `most` entries. */
function setLatest<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, most: number): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (oldest !== undefined && map.size > most) map.delete(oldest);
}

/** Returns the prefixes of keys changed after `revision`. Null means all: too many changed, or a restore lowered the revision. */
async function changedSince(
  database: Queryable,
  { revision, read }: { revision: number | null; read: number | null },
): Promise<string[] | null> {
  if (revision === null || read === null || read < revision) return null;
  const prefixes = await selectChangedPrefixes(database, revision, MAX_CHANGED_PER_POLL + 1);
  return prefixes.length <= MAX_CHANGED_PER_POLL ? prefixes : null;
}

function toCachedKey(row: KeyRow): CachedKey {
  return {
    principal: toPrincipal(row),
    hash: row.secret_hash,
    expiresAtMs: row.expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(row.expires_at),
    suspended: row.suspended,
    isAllowedFrom: row.cidrs === null ? () => true : createCidrMatcher(row.cidrs),
  };
}

function toPrincipal(row: KeyRow): ApiKeyPrincipal {
  const { id, organization_id, organization_name, organization_type, scopes, rate_limits: rateLimits } = row;
  const rateBucket = row.rate_bucket ?? id;
  const grant = { keyId: id, rateBucket, scopes, rateLimits };
  const actor = { type: "key", id } as const;
  return organization_id !== null && organization_name !== null && organization_type !== null
    ? {
        ...grant,
        actor,
        organizationId: organization_id,
        organizationName: organization_name,
        organizationType: organization_type,
        liveOrganizationId: row.live_organization_id ?? undefined,
        timeZone: row.time_zone ?? undefined,
      }
    : {
        ...grant,
        actor: { ...actor, isOperatorKey: true },
        organizationId: null,
        organizationName: null,
        organizationType: null,
      };
}
