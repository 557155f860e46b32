/** After a restore: marks pending deliveries, because they may have been sent after the backup was taken. */
import type { Queryable } from "../../core/postgres/database.ts";
import { raw, sql } from "../../core/postgres/sql.ts";
import { queryWithRetry } from "./discard-pending.sql.ts";

/** Small, so that workers do not wait long for the locked rows. */
const BATCH_SIZE = 500;
const NIL_UUID = "00000000-0000-0000-0000-000000000000";

/**
 * Sets `after_restore` on all pending deliveries, in small batches because workers and the API may be running. Can be repeated.
 * Returns the number of pending deliveries with the mark.
 */
export async function flagPending(database: Queryable): Promise<number> {
  for (let after: string | null = NIL_UUID; after !== null;) after = await flagBatch(database, after);
  const [row] = await database.query<{ marked: number }>(
    raw("select count(*)::int as marked from webhook_delivery where status = 'pending' and after_restore"),
  );
  return row?.marked ?? 0;
}

/**
 * Marks the next batch after the id `after`. Returns the id to continue after; null at the end. It waits for rows that a worker
 * has locked, because the worker may be recording a retry, which needs the mark.
 */
async function flagBatch(database: Queryable, after: string): Promise<string | null> {
  const [batch] = await queryWithRetry<{ count: number; last: string | null }>(
    database,
    sql`with batch as materialized (
        select id from webhook_delivery where status = 'pending' and not after_restore and id > ${after}::uuid
        order by id limit ${BATCH_SIZE} for update
      ), marked as (
        update webhook_delivery set after_restore = true
        where status = 'pending' and id = any(array(select id from batch))
      )
      select (select count(*)::int from batch) as count, (select id from batch order by id desc limit 1) as last`,
  );
  // Deliveries created meanwhile sort last and need no mark.
  return batch?.count === BATCH_SIZE ? batch.last : null;
}
