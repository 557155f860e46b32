/** Removes idempotency records after their 24 hours, and sooner where an organisation stores too many. */
import type { Queryable } from "../platform/postgres/database.ts";
import { sql } from "../platform/postgres/sql.ts";

/** The limits of one organisation. */
export interface IdempotencyStorageLimits {
  records: number;
  /** Of the answers' text, before PostgreSQL compresses it. */
  bytes: number;
}

/** Above what single changes at the full rate of one API key store in 24 hours: 2,160,000 records, 1.3 GiB. */
export const IDEMPOTENCY_STORAGE_LIMITS: IdempotencyStorageLimits = {
  records: 2_500_000,
  bytes: 8 * 1024 ** 3,
};

/** Removes expired records, `atOnce` in one statement, until none is left. */
export async function purgeIdempotencyRecords(database: Queryable, batchSize: number): Promise<void> {
  const purge = () =>
    database.query(sql`
      delete from idempotency_record where ctid = any(array(
        select ctid from idempotency_record where expires_at < now() limit ${batchSize}::int for update skip locked))
      returning 1`);
  while ((await purge()).length === batchSize);
}

/**
 * Removes the oldest records of organisations that store more than `limits`, `atOnce` in one statement; returns how many. Each
 * statement reads one organisation's part of an index, so that none runs into the statement timeout.
 */
export async function trimIdempotencyRecords(
  database: Queryable,
  limits: IdempotencyStorageLimits,
  batchSize: number,
): Promise<number> {
  const organizations = await database.query<{ id: string }>(sql`
    select id from organization
    where exists (select from idempotency_record where organization_id = organization.id)`);
  let removed = 0;
  for (const { id } of organizations)
    removed += await trimOrganization(database, id, { limits, atOnce: batchSize });
  return removed;
}

async function trimOrganization(
  database: Queryable,
  organizationId: string,
  { limits, atOnce }: { limits: IdempotencyStorageLimits; atOnce: number },
): Promise<number> {
  const [stored] = await database.query<IdempotencyStorageLimits>(sql`
    select count(*)::int as records, coalesce(sum(bytes), 0)::float8 as bytes from idempotency_record
    where organization_id = ${organizationId}::uuid`);
  let { records = 0, bytes = 0 } = stored ?? {};
  let removed = 0;
  for (;;) {
    // How many records make up the bytes beyond the limit, if all are of the average size.
    const forBytes = Math.ceil(((bytes - limits.bytes) * records) / bytes);
    const excess = Math.max(records - limits.records, bytes > limits.bytes ? forBytes : 0);
    if (excess <= 0) return removed;
    const rows = await database.query<{ bytes: number }>(sql`
      delete from idempotency_record where ctid = any(array(
        select ctid from idempotency_record where organization_id = ${organizationId}::uuid
        order by expires_at limit ${Math.min(excess, atOnce)}::int for update skip locked))
      returning bytes`);
    if (rows.length === 0) return removed;
    removed += rows.length;
    records -= rows.length;
    for (const row of rows) bytes -= row.bytes;
  }
}
