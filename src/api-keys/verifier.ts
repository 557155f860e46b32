/** Verifies the API keys of requests: their secret, expiry, suspension and allowed IP addresses. */
import { timingSafeEqual } from "node:crypto";
import { createCidrMatcher } from "../core/cidr.ts";
import type { Clock } from "../core/clock.ts";
import { singleFlightByKey } from "../core/concurrency/single-flight.ts";
import { AppError } from "../core/errors.ts";
import { networkOf } from "../core/network.ts";
import type { Queryable } from "../core/postgres/database.ts";
import type { OperatorPrincipal, OrganizationPrincipal } from "../core/principal.ts";
import {
  createMemoryStore,
  limitHeaders,
  type RateLimitOverrides,
  type RateLimitStore,
} from "../rate-limits/api.ts";
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

/** Per IPv4 address or IPv6 /64, and process. */
export const unknownKeyRate = { perSecond: 20, burst: 100 } as const;

export const POLL_INTERVAL_MS = 400;
const TTL_MS = 900;
const MAX_CACHED_KEYS = 50_000;

interface CachedKey {
  readonly principal: ApiKeyPrincipal;
  readonly hash: Buffer;
  readonly expiresAtMs: number;
  readonly suspended: boolean;
  readonly isAllowedFrom: (ipAddress: string) => boolean;
}

/**
 * Verifies keys with a cache. Every 400 ms it polls the access revision, and reads all keys again if it has changed. It uses cached
 * keys only while the last poll is fresh, so every process rejects a revoked key within a second, even without its database.
 */
export class KeyVerifier implements AsyncDisposable {
  readonly #database: Queryable;
  readonly #clock: Clock;
  readonly #unknownKeyLimits: RateLimitStore;
  readonly #timer: NodeJS.Timeout;
  /** By prefix. Null: known, but to be read again. */
  readonly #keys = new Map<string, CachedKey | null>();
  #revision: number | null = null;
  /** On the monotonic clock, so that setting the wall clock back doesn't extend it. */
  #validUntilMs = 0;
  /** Times of last use by key id, not saved yet. */
  readonly #unsavedUses = new Map<string, number>();

  constructor({ database, clock }: { database: Queryable; clock: Clock }) {
    this.#database = database;
    this.#clock = clock;
    this.#unknownKeyLimits = createMemoryStore(clock);
    // A failed poll needs no log entry: the cache expires, and the next request queries the database itself.
    this.#timer = setInterval(() => void this.#poll().catch(() => undefined), POLL_INTERVAL_MS).unref();
  }

  /**
   * `text`: the key; `ipAddress`: the client's IP address. Throws UnauthorizedException for an unknown, expired or revoked key,
   * ForbiddenException if the IP address is outside its ranges or the organisation is suspended, and TooManyRequestsException
   * after too many unknown keys from the same network.
   */
  async verify(text: string, ipAddress: string): Promise<ApiKeyPrincipal> {
    const prefix = parsePrefix(text);
    const key = prefix === null ? null : await this.#find(prefix, ipAddress);
    if (!key || !timingSafeEqual(key.hash, hashKey(text))) throw unauthorized("The API key is not valid");
    if (key.expiresAtMs <= this.#clock.now()) throw unauthorized("The API key has expired");
    if (key.suspended) throw new AppError("ForbiddenException", "The organisation is suspended");
    if (!key.isAllowedFrom(ipAddress))
      throw new AppError("ForbiddenException", "The API key may not be used from this IP address");
    this.#unsavedUses.set(key.principal.keyId, this.#clock.now());
    return key.principal;
  }

  /** Saves when keys were last used, at most once a minute per key across all processes. */
  async flushLastUsed(): Promise<void> {
    const uses = [...this.#unsavedUses];
    if (uses.length === 0) return;
    await updateLastUsed(this.#database, uses);
    for (const [id, ms] of uses) if (this.#unsavedUses.get(id) === ms) this.#unsavedUses.delete(id);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.flushLastUsed().catch(() => undefined);
  }

  async #find(prefix: string, ipAddress: string): Promise<CachedKey | null> {
    const cached = this.#keys.get(prefix);
    if (cached === undefined) return await this.#loadUnknown(`${ipAddress} ${prefix}`);
    return cached && performance.now() < this.#validUntilMs ? cached : await this.#load(prefix);
  }

  /** Concurrent calls share a statement. */
  readonly #load = singleFlightByKey(async (prefix: string): Promise<CachedKey | null> => {
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

  /**
   * Takes a token of the network for a look-up that finds no key: the checksum isn't secret, so anyone can make up well-formed keys.
   * Many first requests of a key share one look-up and one token.
   */
  readonly #loadUnknown = singleFlightByKey(async (request: string): Promise<CachedKey | null> => {
    const [ipAddress = "", prefix = ""] = request.split(" ");
    const bucket = { id: networkOf(ipAddress), limit: unknownKeyRate };
    const [taken] = await this.#unknownKeyLimits.take([bucket], 1);
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
      const key = await this.#load(prefix);
      isUnknown = key === null;
      return key;
    } finally {
      // Also while PostgreSQL is away, when the key may be valid.
      if (!isUnknown) await this.#unknownKeyLimits.take([bucket], -1);
    }
  });

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
