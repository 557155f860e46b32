/** Deletes idempotency records after 24 hours, or earlier if a partner stores too many. */
import type { Queryable } from "../core/postgres/database.ts";
import { raw, sql, type Sql } from "../core/postgres/sql.ts";

/** The limits of one partner: its live organisation and its test organisations. */
export interface IdempotencyStorageLimits {
  records: number;
  /** The size of the stored responses before PostgreSQL compresses them. */
  bytes: number;
}

/** More than one API key can store in 24 hours with single changes at its full rate: 2,160,000 records, 1.3 GiB. */
export const IDEMPOTENCY_STORAGE_LIMITS: IdempotencyStorageLimits = {
  records: 2_500_000,
  bytes: 8 * 1024 ** 3,
};

/** Records per statement. Few, because one can be as large as 1.3 MB. */
const BATCH_SIZE = 500;

/** Deletes all expired records, `batchSize` per statement. */
export async function purgeIdempotencyRecords(database: Queryable, batchSize = BATCH_SIZE): Promise<void> {
  await deleteWhere(database, raw("expires_at < now()"), batchSize);
}

/** Deletes the records of organisations (UUIDs). */
export async function deleteRecordsOf(
  database: Queryable,
  organizationIds: readonly string[],
): Promise<void> {
  await deleteWhere(database, sql`organization_id = any(${organizationIds}::uuid[])`, BATCH_SIZE);
}

async function deleteWhere(database: Queryable, condition: Sql, batchSize: number): Promise<void> {
  const deleteBatch = () =>
    database.query(sql`
      delete from idempotency_record where ctid = any(array(
        select ctid from idempotency_record where ${condition} limit ${batchSize}::int for update skip locked))
      returning 1`);
  while ((await deleteBatch()).length === batchSize);
}

/**
 * Deletes the oldest records of partners that exceed `limits`, `batchSize` per statement. Returns their number. Each statement
 * reads only one partner's part of an index, to stay within the statement timeout.
 */
export async function trimIdempotencyRecords(
  database: Queryable,
  limits: IdempotencyStorageLimits = IDEMPOTENCY_STORAGE_LIMITS,
  batchSize = BATCH_SIZE,
): Promise<number> {
  const partners = await database.query<{ ids: string[] }>(sql`
    select array_agg(id) as ids from organization
    where exists (select from idempotency_record where organization_id = organization.id)
    group by coalesce(live_organization_id, id)`);
  let removed = 0;
  for (const { ids } of partners) removed += await trimPartner(database, ids, { limits, batchSize });
  return removed;
}

async function trimPartner(
  database: Queryable,
  organizationIds: readonly string[],
  { limits, batchSize }: { limits: IdempotencyStorageLimits; batchSize: number },
): Promise<number> {
  const [stored] = await database.query<IdempotencyStorageLimits>(sql`
    select count(*)::int as records, coalesce(sum(bytes), 0)::float8 as bytes from idempotency_record
    where organization_id = any(${organizationIds}::uuid[])`);
  let { records = 0, bytes = 0 } = stored ?? {};
  let removed = 0;
  for (;;) {
    // The number of average-sized records that make up the excess bytes.
    const forBytes = Math.ceil(((bytes - limits.bytes) * records) / bytes);
    const excess = Math.max(records - limits.records, bytes > limits.bytes ? forBytes : 0);
    if (excess <= 0) return removed;
    const rows = await database.query<{ bytes: number }>(sql`
      delete from idempotency_record where ctid = any(array(
        select ctid from idempotency_record where organization_id = any(${organizationIds}::uuid[])
        order by expires_at limit ${Math.min(excess, batchSize)}::int for update skip locked))
      returning bytes`);
    if (rows.length === 0) return removed;
    removed += rows.length;
    records -= rows.length;
    for (const row of rows) bytes -= row.bytes;
  }
}
