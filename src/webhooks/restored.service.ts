/** What a restore means for deliveries: those that wait in the backup may have been sent since it was made. */
import type { Queryable } from "../platform/database.ts";
import { raw, sql } from "../platform/sql.ts";
import { WORKER_CONNECTION } from "./delivery-queue.ts";

/** Marks what waits, so that receivers and the log can tell. Answers with how many deliveries wait with the mark. */
export async function markWaiting(tx: Queryable): Promise<number> {
  await tx.query(
    raw("update webhook_delivery set after_restore = true where status = 'pending' and not after_restore"),
  );
  const [row] = await tx.query<{ marked: number }>(
    raw("select count(*)::int as marked from webhook_delivery where status = 'pending' and after_restore"),
  );
  return row?.marked ?? 0;
}

/** Whether a worker is connected, which sends what it finds. */
export async function isWorkerRunning(on: Queryable): Promise<boolean> {
  const workers = await on.query(sql`
    select from pg_stat_activity where application_name = ${WORKER_CONNECTION} and datname = current_database()`);
  return workers.length > 0;
}
