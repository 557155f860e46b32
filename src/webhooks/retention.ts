/** What the log and the queue no longer keep. */
import type { Queryable } from "../platform/database.ts";
import { firstUuidOf } from "../platform/ids.ts";
import { sql } from "../platform/sql.ts";
import { deletedWithPending } from "./delivery-queue.ts";
import { discardWaiting, idOfNow, queryMoving } from "./moving.ts";
import { dropExpiredPartitions, ensurePartitions } from "./partitions.ts";

const AT_ONCE = 5_000;

export interface Retired {
  /** Deliveries that had waited too long: their endpoint was paused or disabled all the time. */
  deleted: number;
  /** The names of the tables. */
  dropped: string[];
}

/**
 * Ends what has waited for longer than `retentionDays`, drops the weeks that are over, makes those to come, and discards what
 * waits for deleted endpoints.
 */
export async function retire(database: Queryable, nowMs: number, retentionDays: number): Promise<Retired> {
  // First: what waits finds its week in the log when it ends.
  const deleted = await deleteWaiting(database, firstUuidOf(new Date(nowMs - retentionDays * 86_400_000)));
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

async function deleteWaiting(database: Queryable, beforeId: string): Promise<number> {
  let deleted = 0;
  for (;;) {
    const [row] = await queryMoving<{ count: number }>(
      database,
      sql`with gone as (
        delete from webhook_delivery where status = 'pending' and id = any(array(
          select id from webhook_delivery where status = 'pending' and id < ${beforeId}::uuid
          order by id limit ${AT_ONCE}))
        returning 1
      ) select count(*)::int as count from gone`,
    );
    deleted += row?.count ?? 0;
    if ((row?.count ?? 0) < AT_ONCE) return deleted;
  }
}
