/** Purges deliveries by age, by PostgreSQL's clock. */
import type { Queryable } from "../platform/database.ts";
import { databaseNowMs } from "../platform/database-time.ts";
import { firstUuidOf } from "../platform/ids.ts";
import { raw, sql, type Sql } from "../platform/sql.ts";
import { FIRST, isOf } from "./delivery.lanes.ts";
import { deletedWithPending, onHold } from "./delivery-queue.ts";
import { discardWaiting, idOfNow, queryMoving } from "./moving.ts";
import { dropExpiredPartitions, ensurePartitions } from "./partitions.ts";

const AT_ONCE = 5_000;
/** Deliveries on hold that an endpoint keeps; older ones are deleted. Their events stay in the feed, to be replayed. */
const MAX_ON_HOLD = 100_000;

export interface Retired {
  /** Pending deliveries on hold that were older than the retention, or beyond `MAX_ON_HOLD` of their endpoint. */
  deleted: number;
  /** The names of the tables. */
  dropped: string[];
}

/**
 * Deletes deliveries on hold that are older than `retentionDays` or beyond `MAX_ON_HOLD` of an endpoint, drops the expired weeks of the log, creates the coming
 * ones, and discards what is pending for deleted endpoints. A delivery that an active endpoint still retries is never deleted.
 */
export async function retire(database: Queryable, retentionDays: number): Promise<Retired> {
  const nowMs = await databaseNowMs(database);
  // Before the weeks are dropped: those of pending deliveries stay.
  const expired = sql`id < ${firstUuidOf(new Date(nowMs - retentionDays * 86_400_000))}::uuid`;
  let deleted = await deleteOnHold(database, sql`status = 'pending' and ${expired}`);
  for (const { endpointId, newestId } of await beyondLimit(database))
    deleted += await deleteOnHold(
      database,
      sql`${FIRST} and ${isOf(sql`${endpointId}::uuid`)} and id <= ${newestId}::uuid`,
      raw("endpoint_id, id"),
    );
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

interface BeyondLimit {
  endpointId: string;
  /** The newest delivery to delete. */
  newestId: string;
}

/** Endpoints with more than `MAX_ON_HOLD`. Only deliveries that were never sent grow in number during a pause. */
async function beyondLimit(database: Queryable): Promise<BeyondLimit[]> {
  return database.query<BeyondLimit>(sql`
    select endpoint.id as "endpointId", beyond.id as "newestId"
    from webhook_endpoint endpoint join organization on organization.id = endpoint.organization_id
    cross join lateral (
      select id from webhook_delivery where ${FIRST} and ${isOf(raw("endpoint.id"))}
      order by endpoint_id desc, id desc offset ${MAX_ON_HOLD} limit 1
    ) beyond
    where endpoint.deleted_at is null and (endpoint.status <> 'active' or organization.suspended_at is not null)`);
}

/** Deletes the deliveries on hold that are `chosen`, a condition that an index has in the order `by`. */
async function deleteOnHold(database: Queryable, chosen: Sql, by: Sql = raw("id")): Promise<number> {
  let deleted = 0;
  for (;;) {
    const [row] = await queryMoving<{ count: number }>(
      database,
      sql`with gone as (
        delete from webhook_delivery where status = 'pending' and id = any(array(
          select id from webhook_delivery where ${chosen} and ${onHold}
          order by ${by} limit ${AT_ONCE}))
        returning 1
      ) select count(*)::int as count from gone`,
    );
    deleted += row?.count ?? 0;
    if ((row?.count ?? 0) < AT_ONCE) return deleted;
  }
}
