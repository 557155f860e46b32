/** Rate limits: a token bucket for each key and class of request, in this process or shared through PostgreSQL. */
import type { RequestHandler } from "express";
import type { Clock } from "../platform/clock.ts";
import type { Queryable } from "../platform/database.ts";
import { AppError } from "../platform/errors.ts";
import { sql } from "../platform/sql.ts";
import { createTokenBucket, type TokenBucket, type TokenRate } from "../platform/token-bucket.ts";
import { principalOf } from "./context.ts";

/** A request takes one token. */
export type RateLimit = TokenRate;

export const defaultRateLimits = {
  read: { perSecond: 50, burst: 100 },
  write: { perSecond: 25, burst: 50 },
  batch: { perSecond: 5, burst: 10 },
} as const satisfies Record<string, RateLimit>;

export type RateLimitClass = keyof typeof defaultRateLimits;

/** What taking a token came to; `tokens` are left, as a fraction. */
export interface Taken {
  allowed: boolean;
  tokens: number;
}

export interface RateLimitStore {
  take(bucket: string, limit: RateLimit): Promise<Taken> | Taken;
}

/** Limits `kind` of request; a null `store`: rate limits are off. Sets both families of headers on every answer. */
export function rateLimit(store: RateLimitStore | null, kind: RateLimitClass): RequestHandler {
  return async (_request, response, next) => {
    if (!store) return next();
    const { keyId, rateLimits } = principalOf(response);
    const own = rateLimits?.[kind];
    if (own === null) return next();
    const limit = own ?? defaultRateLimits[kind];
    const { allowed, tokens } = await store.take(`${keyId}:${kind}`, limit);
    const remaining = Math.floor(tokens);
    const fullInS = Math.ceil((limit.burst - tokens) / limit.perSecond);
    response.setHeader(
      "RateLimit-Policy",
      `"${kind}";q=${limit.burst};w=${Math.ceil(limit.burst / limit.perSecond)}`,
    );
    response.setHeader("RateLimit", `"${kind}";r=${remaining};t=${fullInS}`);
    response.setHeader("X-RateLimit-Limit", limit.burst);
    response.setHeader("X-RateLimit-Remaining", remaining);
    response.setHeader("X-RateLimit-Reset", fullInS);
    if (!allowed) throw tooMany(kind, limit, tokens);
    next();
  };
}

function tooMany(kind: RateLimitClass, limit: RateLimit, tokens: number): AppError {
  const retryAfterS = Math.max(1, Math.ceil((1 - tokens) / limit.perSecond));
  const message = `Too many ${kind} requests: ${limit.perSecond} a second, ${limit.burst} at once. Try again in ${retryAfterS} s.`;
  return new AppError("TooManyRequestsException", message, {
    headers: { "Retry-After": String(retryAfterS) },
  });
}

/** Buckets of this process. One that has filled up again is forgotten: it is as good as new. */
export function createMemoryStore(clock: Clock): RateLimitStore {
  const buckets = new Map<string, { bucket: TokenBucket; fullAtMs: number }>();
  let sweepAtMs = 0;

  const sweep = (nowMs: number): void => {
    if (nowMs < sweepAtMs) return;
    sweepAtMs = nowMs + 60_000;
    for (const [id, { fullAtMs }] of buckets) if (fullAtMs <= nowMs) buckets.delete(id);
  };

  return {
    take(id, limit) {
      const nowMs = clock.now();
      sweep(nowMs);
      const bucket = buckets.get(id)?.bucket ?? createTokenBucket(limit, nowMs);
      bucket.setRate(limit);
      const allowed = bucket.take(nowMs);
      buckets.set(id, { bucket, fullAtMs: nowMs + bucket.msUntil(limit.burst, nowMs) });
      return { allowed, tokens: bucket.available(nowMs) };
    },
  };
}

/** The same buckets, shared by all processes: one statement a request. */
export function createPostgresStore(database: Queryable): RateLimitStore {
  return {
    async take(id, { perSecond, burst }) {
      const refilled = sql`least(${burst}::float8,
        bucket.tokens + ${perSecond}::float8 * greatest(0, extract(epoch from clock_timestamp() - bucket.updated_at)))`;
      const [row] = await database.query<Taken>(sql`
        insert into rate_limit_bucket as bucket (id, tokens, allowed, updated_at)
        values (${id}, ${burst}::float8 - 1, true, clock_timestamp())
        on conflict (id) do update set
          allowed = ${refilled} >= 1,
          tokens = case when ${refilled} >= 1 then ${refilled} - 1 else ${refilled} end,
          updated_at = clock_timestamp()
        returning allowed, tokens`);
      return row as Taken;
    },
  };
}
