/** Where token buckets are kept: in this process, or shared by all through PostgreSQL. */
import type { Clock } from "../platform/clock.ts";
import type { Queryable } from "../platform/database.ts";
import { sql } from "../platform/sql.ts";
import { createTokenBucket, type TokenBucket, type TokenRate } from "../platform/token-bucket.ts";

/** What taking a token came to; `tokens` are left, as a fraction. */
export interface Taken {
  allowed: boolean;
  tokens: number;
}

export interface RateLimitStore {
  /** Takes `count` tokens if that many are there, and otherwise none. */
  take(bucket: string, limit: TokenRate, count: number): Promise<Taken> | Taken;
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
    take(id, limit, count) {
      // A time of day that is set forwards would fill all buckets, one that is set back keep them for so much longer.
      const nowMs = clock.elapsed();
      sweep(nowMs);
      const bucket = buckets.get(id)?.bucket ?? createTokenBucket(limit, nowMs);
      bucket.setRate(limit);
      const allowed = bucket.take(nowMs, count);
      buckets.set(id, { bucket, fullAtMs: nowMs + bucket.msUntil(limit.burst, nowMs) });
      return { allowed, tokens: bucket.available(nowMs) };
    },
  };
}

/** The same buckets, shared by all processes: one statement a request. */
export function createPostgresStore(database: Queryable): RateLimitStore {
  return {
    async take(id, { perSecond, burst }, count) {
      const refilled = sql`least(${burst}::float8,
        bucket.tokens + ${perSecond}::float8 * greatest(0, extract(epoch from clock_timestamp() - bucket.updated_at)))`;
      const fits = sql`${burst}::float8 >= ${count}::float8`;
      const [row] = await database.query<Taken>(sql`
        insert into rate_limit_bucket as bucket (id, tokens, allowed, updated_at)
        values (${id}, ${burst}::float8 - case when ${fits} then ${count}::float8 else 0 end, ${fits}, clock_timestamp())
        on conflict (id) do update set
          allowed = ${refilled} >= ${count}::float8,
          tokens = ${refilled} - case when ${refilled} >= ${count}::float8 then ${count}::float8 else 0 end,
          updated_at = clock_timestamp()
        returning allowed, tokens`);
      return row as Taken;
    },
  };
}

/**
 * Forgets buckets that were not used for a day, `atOnce` in a statement: they are full again, and as good as new. It reads
 * the whole table, so it is for once in a while: an index by time would have to be written for every request.
 */
export async function purgeBuckets(database: Queryable, atOnce: number): Promise<void> {
  const purge = () =>
    database.query(sql`
      delete from rate_limit_bucket where id = any(array(
        select id from rate_limit_bucket where updated_at < clock_timestamp() - interval '1 day'
        limit ${atOnce}::int for update skip locked))
      returning 1`);
  while ((await purge()).length === atOnce);
}
