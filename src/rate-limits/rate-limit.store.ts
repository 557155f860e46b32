/** Stores token buckets in memory, or in PostgreSQL shared by all processes. */
import type { Clock } from "../platform/clock.ts";
import type { Queryable } from "../platform/postgres/database.ts";
import { invariant } from "../platform/errors.ts";
import { sql, type Sql } from "../platform/postgres/sql.ts";
import { createTokenBucket, type TokenBucket, type TokenRate } from "../platform/concurrency/token-bucket.ts";

/** `tokens`: the rest in the bucket, with fractions. */
export interface TakeResult {
  allowed: boolean;
  tokens: number;
}

export interface BucketRequest {
  readonly id: string;
  readonly limit: TokenRate;
}

export interface RateLimitStore {
  /** Takes `count` tokens if the bucket has that many, otherwise none. A negative `count` returns tokens. */
  take(bucket: string, limit: TokenRate, count: number): Promise<TakeResult> | TakeResult;
  /** Takes from `own`, then from `shared` only if `own` had enough: a rejected request must not use up the shared limit. */
  takeBoth(
    own: BucketRequest,
    shared: BucketRequest,
    count: number,
  ): Promise<[TakeResult, TakeResult]> | [TakeResult, TakeResult];
}

/** Buckets in this process's memory. A full bucket is deleted, as a new one would be equal. */
export function createMemoryStore(clock: Clock): RateLimitStore {
  const buckets = new Map<string, { bucket: TokenBucket; fullAtMs: number }>();
  let sweepAtMs = 0;

  const sweep = (nowMs: number): void => {
    if (nowMs < sweepAtMs) return;
    sweepAtMs = nowMs + 60_000;
    for (const [id, { fullAtMs }] of buckets) if (fullAtMs <= nowMs) buckets.delete(id);
  };

  const take = (id: string, limit: TokenRate, count: number): TakeResult => {
    // Monotonic, so that changing the wall clock neither fills buckets nor stops refilling them.
    const nowMs = clock.elapsed();
    sweep(nowMs);
    const bucket = buckets.get(id)?.bucket ?? createTokenBucket(limit, nowMs);
    bucket.setRate(limit);
    const allowed = bucket.take(nowMs, count);
    buckets.set(id, { bucket, fullAtMs: nowMs + bucket.msUntil(limit.burst, nowMs) });
    return { allowed, tokens: bucket.available(nowMs) };
  };

  return {
    take,
    takeBoth(own, shared, count) {
      const first = take(own.id, own.limit, count);
      return [first, take(shared.id, shared.limit, first.allowed ? count : 0)];
    },
  };
}

/** Buckets in PostgreSQL, shared by all processes. One statement per request, for one bucket or two. */
export function createPostgresStore(database: Queryable): RateLimitStore {
  return {
    async take(id, limit, count) {
      const [row] = await database.query<TakeResult>(takeSql({ id, limit }, sql`${count}::float8`));
      return row as TakeResult;
    },
    async takeBoth(own, shared, count) {
      // The own bucket is locked first everywhere, so two of these statements never wait for each other.
      const [row] = await database.query<TakeResult & { shared_allowed: boolean; shared_tokens: number }>(sql`
        with own as (${takeSql(own, sql`${count}::float8`)}),
          shared as (${takeSql(shared, sql`(select case when allowed then ${count}::float8 else 0 end from own)`)})
        select own.*, shared.allowed as shared_allowed, shared.tokens as shared_tokens from own, shared`);
      invariant(row, "both statements return their row");
      const { allowed, tokens, shared_allowed: sharedAllowed, shared_tokens: sharedTokens } = row;
      return [
        { allowed, tokens },
        { allowed: sharedAllowed, tokens: sharedTokens },
      ];
    },
  };
}

/** Takes `count` tokens if the bucket has that many, otherwise none. A missing bucket starts full. */
function takeSql({ id, limit: { perSecond, burst } }: BucketRequest, count: Sql): Sql {
  const refilled = sql`least(${burst}::float8,
    bucket.tokens + ${perSecond}::float8 * greatest(0, extract(epoch from clock_timestamp() - bucket.updated_at)))`;
  const isWithinBurst = sql`${burst}::float8 >= ${count}`;
  return sql`
    insert into rate_limit_bucket as bucket (id, tokens, allowed, updated_at)
    values (${id}, ${burst}::float8 - case when ${isWithinBurst} then ${count} else 0 end, ${isWithinBurst}, clock_timestamp())
    on conflict (id) do update set
      allowed = ${refilled} >= ${count},
      tokens = ${refilled} - case when ${refilled} >= ${count} then ${count} else 0 end,
      updated_at = clock_timestamp()
    returning allowed, tokens`;
}

/**
 * Deletes buckets unused for a day, `batchSize` per statement: they are full again. It scans the whole table, so run it
 * rarely; an index by time would slow down every request.
 */
export async function purgeBuckets(database: Queryable, batchSize: number): Promise<void> {
  const purgeBatch = () =>
    database.query(sql`
      delete from rate_limit_bucket where id = any(array(
        select id from rate_limit_bucket where updated_at < clock_timestamp() - interval '1 day'
        limit ${batchSize}::int for update skip locked))
      returning 1`);
  while ((await purgeBatch()).length === batchSize);
}
