/** Token buckets in PostgreSQL, shared by all processes. Every request with RATE_LIMIT_STORE=postgres runs one statement. */
import type { Queryable } from "../core/postgres/database.ts";
import { join, raw, sql, type Sql } from "../core/postgres/sql.ts";
import type { BucketRequest, RateLimitStore, TakeResult } from "./store.ts";

/** One statement per request, however many buckets it takes from. */
export function createPostgresStore(database: Queryable): RateLimitStore {
  return {
    async take(buckets, count) {
      const rows = await database.query<TakeResult>(takeStatement(buckets, count));
      return rows.map(({ allowed, tokens }) => ({ allowed, tokens }));
    },
  };
}

/**
 * Locks the buckets in the order given, as each reads the ones before it. Requests name their buckets in the same order, so two
 * of these statements never wait for each other.
 */
function takeStatement(buckets: readonly BucketRequest[], count: number): Sql {
  const names = buckets.map((_bucket, index) => raw(`bucket${index}`));
  const steps = buckets.map((bucket, index) => {
    const before = names.slice(0, index);
    const isReached = join(
      before.map((name) => sql`${name}.allowed`),
      " and ",
    );
    const taken =
      index === 0
        ? sql`${count}::float8`
        : sql`(select case when ${isReached} then ${count}::float8 else 0 end from ${join(before, ", ")})`;
    return sql`${names[index]} as (${takeSql(bucket, taken)})`;
  });
  const results = names.map(
    (name, index) => sql`select allowed, tokens, ${raw(String(index))} as position from ${name}`,
  );
  return sql`with ${join(steps, ", ")} ${join(results, " union all ")} order by position`;
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
