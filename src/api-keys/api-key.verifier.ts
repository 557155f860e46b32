/** Verifying a presented key: is it one of ours, is it still good, may it come from there. */
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
   * Throws UnauthorizedException for a key that is unknown, expired or revoked, and ForbiddenException where the address
   * is outside its ranges or its organisation is suspended. Throws TooManyRequestsException where too many unknown keys came
   * from the address's network.
   */
  verify(text: string, address: string): Promise<ApiKeyPrincipal>;
  /** Writes down when keys were last used, at most once a minute each, whatever processes they are used in. */
  flushLastUsed(): Promise<void>;
}

/** A 401, with what RFC 9110 wants beside it. */
export function unauthorized(message: string): AppError {
  return new AppError("UnauthorizedException", message, { headers: { "WWW-Authenticate": "Bearer" } });
}

/** For who brings no key. */
export function keyRequired(): AppError {
  return unauthorized("An API key is required, as x-api-key or as Authorization: Bearer");
}

/** Who asks for something: a key, or, where there is none, a person. */
interface ScopedPrincipal {
  readonly keyId: string | null;
  readonly scopes: readonly Scope[];
}

/** Throws ForbiddenException where the key, or the person's role, has not `scope`. */
export function requireScope({ keyId, scopes }: ScopedPrincipal, scope: Scope): void {
  if (scopes.includes(scope)) return;
  const sentence =
    keyId === null
      ? `Your role does not allow this: it needs ${scope}`
      : `The API key lacks the scope ${scope}`;
  throw new AppError("ForbiddenException", sentence);
}

export function createKeyVerifier({ database, clock }: { database: Queryable; clock: Clock }): KeyVerifier {
  const cache = createKeyCache(database);
  const limitUnknownKeys = createUnknownKeyLimit(clock);

  const find = async (lookup: string, address: string): Promise<CachedKey | null> => {
    const cached = cache.get(lookup);
    return cached === undefined ? await limitUnknownKeys(address, () => cache.load(lookup)) : cached;
  };

  /** When each key was last used, by its id, as long as that is not written down. */
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
        throw new AppError("ForbiddenException", "The API key may not be used from this address");
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
