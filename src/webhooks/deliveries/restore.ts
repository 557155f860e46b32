/** What a restore means for deliveries: those that wait in the backup may have been sent since it was made. */
import type { Queryable } from "../../platform/postgres/database.ts";
import { raw, sql } from "../../platform/postgres/sql.ts";
import { WORKER_APPLICATION_NAME } from "./queue-stats.ts";
import { queryWithRetry } from "./discard.ts";

/** Few enough that no turn of a worker waits long for those that are being marked, and that few are moved meanwhile. */
const BATCH_SIZE = 500;
const NIL_UUID = "00000000-0000-0000-0000-000000000000";

/**
 * Marks what waits, so that receivers and the log can tell: a part at a time, each in a transaction of its own, since workers
 * and the API may be running. Safe to do again. Answers with how many deliveries wait with the mark.
 */
export async function flagPending(database: Queryable): Promise<number> {
  for (let after: string | null = NIL_UUID; after !== null;) after = await flagBatch(database, after);
  const [row] = await database.query<{ marked: number }>(
    raw("select count(*)::int as marked from webhook_delivery where status = 'pending' and after_restore"),
  );
  return row?.marked ?? 0;
}

/**
 * Those that come `after`, in order. Answers with where to go on; null: there are no more. What a turn holds is waited for,
 * not skipped: it may be recording that the delivery is to be sent again, and then the mark is wanted most.
 */
async function flagBatch(database: Queryable, after: string): Promise<string | null> {
  const [batch] = await queryWithRetry<{ count: number; last: string | null }>(
    database,
    sql`with part as materialized (
        select id from webhook_delivery where status = 'pending' and not after_restore and id > ${after}::uuid
        order by id limit ${BATCH_SIZE} for update
      ), marked as (
        update webhook_delivery set after_restore = true
        where status = 'pending' and id = any(array(select id from part))
      )
      select (select count(*)::int from part) as count, (select id from part order by id desc limit 1) as last`,
  );
  // What is made meanwhile comes last, and is not run after.
  return batch?.count === BATCH_SIZE ? batch.last : null;
}

/** Whether a worker is connected, which sends what it finds. */
export async function isWorkerRunning(on: Queryable): Promise<boolean> {
  const workers = await on.query(sql`
    select from pg_stat_activity where application_name = ${WORKER_APPLICATION_NAME} and datname = current_database()`);
  return workers.length > 0;
}
