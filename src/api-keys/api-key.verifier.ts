/** Verifies API keys of requests: the secret, expiry, suspension and allowed IP addresses. */
import { timingSafeEqual } from "node:crypto";
import type { Clock } from "../platform/clock.ts";
import type { Queryable } from "../platform/postgres/database.ts";
import { AppError } from "../platform/errors.ts";
import { sql } from "../platform/postgres/sql.ts";
import type { Scope } from "./api-key.entity.ts";
import { hashKey, parseLookup } from "./api-key.format.ts";
import { createKeyCache, type ApiKeyPrincipal, type CachedKey } from "./api-key.cache.ts";
import { createUnknownKeyLimit } from "./api-key.unknown-key-limit.ts";

export interface KeyVerifier extends AsyncDisposable {
  /**
   * `text`: the key; `address`: the client's IP address. Throws UnauthorizedException for an unknown, expired or revoked key,
   * ForbiddenException if the IP address is outside its ranges or the organisation is suspended, and TooManyRequestsException
   * after too many unknown keys from the same network.
   */
  verify(text: string, address: string): Promise<ApiKeyPrincipal>;
  /** Saves when keys were last used, at most once a minute per key across all processes. */
  flushLastUsed(): Promise<void>;
}

/** A 401 with the WWW-Authenticate header that RFC 9110 requires. */
export function unauthorized(message: string): AppError {
  return new AppError("UnauthorizedException", message, { headers: { "WWW-Authenticate": "Bearer" } });
}

/** The 401 for a request without a key. */
export function keyRequired(): AppError {
  return unauthorized("An API key is required, as x-api-key or as Authorization: Bearer");
}

/** `keyId` is null for a user. */
interface ScopedPrincipal {
  readonly keyId: string | null;
  readonly scopes: readonly Scope[];
}

/** Throws ForbiddenException if the key, or the user's role, doesn't have `scope`. */
export function requireScope({ keyId, scopes }: ScopedPrincipal, scope: Scope): void {
  if (scopes.includes(scope)) return;
  const message =
    keyId === null
      ? `Your role does not have the scope ${scope}, which this needs`
      : `The API key lacks the scope ${scope}`;
  throw new AppError("ForbiddenException", message);
}

export function createKeyVerifier({ database, clock }: { database: Queryable; clock: Clock }): KeyVerifier {
  const cache = createKeyCache(database);
  const limitUnknownKeys = createUnknownKeyLimit(clock);

  const find = async (lookup: string, address: string): Promise<CachedKey | null> => {
    const cached = cache.get(lookup);
    return cached === undefined ? await limitUnknownKeys(address, () => cache.load(lookup)) : cached;
  };

  /** Times of last use by key id, not saved yet. */
  const unsavedUses = new Map<string, number>();

  const flushLastUsed = async (): Promise<void> => {
    const uses = [...unsavedUses];
    if (uses.length === 0) return;
    await database.query(sql`
      update api_key set last_used_at = used.at::timestamptz
      from unnest(${uses.map(([id]) => id)}::uuid[],
        ${uses.map(([, ms]) => new Date(ms).toISOString())}::text[]) used (id, at)
      where api_key.id = used.id
        and (last_used_at is null or last_used_at <= used.at::timestamptz - interval '1 minute')`);
    for (const [id, ms] of uses) if (unsavedUses.get(id) === ms) unsavedUses.delete(id);
  };

  return {
    async verify(text, address) {
      const lookup = parseLookup(text);
      const key = lookup === null ? null : await find(lookup, address);
      if (!key || !timingSafeEqual(key.hash, hashKey(text))) throw unauthorized("The API key is not valid");
      if (key.expiresAtMs <= clock.now()) throw unauthorized("The API key has expired");
      if (key.suspended) throw new AppError("ForbiddenException", "The organisation is suspended");
      if (!key.isAllowedFrom(address))
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
