/** Removes idempotency records after their 24 hours, and sooner where an organisation stores too many. */
import type { Queryable } from "../platform/database.ts";
import { sql } from "../platform/sql.ts";

/** What one organisation may store. */
export interface IdempotencyLimits {
  records: number;
  /** Of the answers' text, before PostgreSQL compresses it. */
  bytes: number;
}

/** Above what single changes at the full rate of one API key store in 24 hours: 2,160,000 records, 1.3 GiB. */
export const IDEMPOTENCY_LIMITS: IdempotencyLimits = { records: 2_500_000, bytes: 8 * 1024 ** 3 };

/** Removes expired records, `atOnce` in one statement, until there are none. */
export async function purgeIdempotencyRecords(database: Queryable, atOnce: number): Promise<void> {
  const purge = () =>
    database.query(sql`
      delete from idempotency_record where ctid = any(array(
        select ctid from idempotency_record where expires_at < now() limit ${atOnce}::int for update skip locked))
      returning 1`);
  while ((await purge()).length === atOnce);
}

/** Removes the oldest records of organisations that store more than `limits`; returns how many. */
export async function trimIdempotencyRecords(
  database: Queryable,
  limits: IdempotencyLimits,
  atOnce: number,
): Promise<number> {
  const excesses = await database.query<Excess>(sql`
    select organization_id, (
      select max(expires_at) from (
        select expires_at, row_number() over newest as records, sum(bytes) over newest as bytes
        from idempotency_record record where record.organization_id = stored.organization_id
        window newest as (order by expires_at desc rows unbounded preceding)) ranked
      where records > ${limits.records}::bigint or bytes > ${limits.bytes}::bigint) as newest_removed
    from (
      select organization_id from idempotency_record group by organization_id
      having count(*) > ${limits.records}::bigint or sum(bytes) > ${limits.bytes}::bigint) stored`);
  let removed = 0;
  for (const excess of excesses) removed += await removeOldest(database, excess, atOnce);
  return removed;
}

interface Excess {
  organization_id: string;
  /** The `expires_at` of the newest record beyond the limits. */
  newest_removed: string;
}

async function removeOldest(
  database: Queryable,
  { organization_id: organizationId, newest_removed: newest }: Excess,
  atOnce: number,
): Promise<number> {
  let removed = 0;
  for (;;) {
    const rows = await database.query(sql`
      delete from idempotency_record where ctid = any(array(
        select ctid from idempotency_record
        where organization_id = ${organizationId}::uuid and expires_at <= ${newest}::timestamptz
        limit ${atOnce}::int for update skip locked))
      returning 1`);
    removed += rows.length;
    if (rows.length < atOnce) return removed;
  }
}
