/** Purges deliveries by age, by PostgreSQL's clock. */
import type { Queryable } from "../platform/database.ts";
import { databaseNowMs } from "../platform/database-time.ts";
import { firstUuidOf } from "../platform/ids.ts";
import { sql } from "../platform/sql.ts";
import { deletedWithPending, onHold } from "./delivery-queue.ts";
import { discardWaiting, idOfNow, queryMoving } from "./moving.ts";
import { dropExpiredPartitions, ensurePartitions } from "./partitions.ts";

const AT_ONCE = 5_000;

export interface Retired {
  /** Pending deliveries on hold that were older than the retention. */
  deleted: number;
  /** The names of the tables. */
  dropped: string[];
}

/**
 * Deletes deliveries on hold that are older than `retentionDays`, drops the expired weeks of the log, creates the coming
 * ones, and discards what is pending for deleted endpoints. A delivery that an active endpoint still retries is never deleted.
 */
export async function retire(database: Queryable, retentionDays: number): Promise<Retired> {
  const nowMs = await databaseNowMs(database);
  // Before the weeks are dropped: those of pending deliveries stay.
  const deleted = await deleteOnHold(database, firstUuidOf(new Date(nowMs - retentionDays * 86_400_000)));
  const dropped = await dropExpiredPartitions(database, nowMs, retentionDays);
  await ensurePartitions(database, nowMs, retentionDays);
  await discardDeleted(database);
  return { deleted, dropped };
}

/** What an event made for an endpoint that was deleted at that moment: its deletion could not see it. */
async function discardDeleted(database: Queryable): Promise<void> {
  for (const endpointId of await deletedWithPending(database))
    await discardWaiting(database, {
      endpointId,
      beforeId: await idOfNow(database),
      inFlight: true,
      while: sql`endpoint.deleted_at is not null`,
    });
}

async function deleteOnHold(database: Queryable, beforeId: string): Promise<number> {
  let deleted = 0;
  for (;;) {
    const [row] = await queryMoving<{ count: number }>(
      database,
      sql`with gone as (
        delete from webhook_delivery where status = 'pending' and id = any(array(
          select id from webhook_delivery where status = 'pending' and id < ${beforeId}::uuid and ${onHold}
          order by id limit ${AT_ONCE}))
        returning 1
      ) select count(*)::int as count from gone`,
    );
    deleted += row?.count ?? 0;
    if ((row?.count ?? 0) < AT_ONCE) return deleted;
  }
}
