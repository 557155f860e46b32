/** Purges deliveries by age, by PostgreSQL's clock. */
import type { Queryable } from "../../core/postgres/database.ts";
import { databaseNowMs } from "../../core/postgres/clock.ts";
import { minUuidAt } from "../../core/ids.ts";
import { raw, sql, type Sql } from "../../core/postgres/sql.ts";
import { DAY_MS } from "../../core/time.ts";
import { NEVER_ATTEMPTED, forEndpoint } from "./queue-lanes.sql.ts";
import { onHoldSql } from "./queue-stats.sql.ts";
import { queryWithRetry } from "./discard-pending.sql.ts";
import { dropExpiredPartitions, ensurePartitions } from "./weekly-partitions.sql.ts";

const BATCH_SIZE = 5_000;
/** Deliveries on hold kept per endpoint; older ones are deleted. Their events stay in the feed and can be replayed. */
const MAX_ON_HOLD = 100_000;

export interface DeliveryPurgeResult {
  /** Deleted deliveries on hold, which were too old or beyond `MAX_ON_HOLD`. */
  deleted: number;
  /** The names of the dropped partitions. */
  dropped: string[];
}

/**
 * Deletes deliveries on hold that are older than `retentionDays` or beyond `MAX_ON_HOLD`, drops expired partitions, creates
 * new ones, and deletes endpoints that the log has forgotten. Deliveries that are still retried are never deleted.
 */
export async function purgeExpiredDeliveries(
  database: Queryable,
  retentionDays: number,
): Promise<DeliveryPurgeResult> {
  const nowMs = await databaseNowMs(database);
  // First, because partitions with pending deliveries cannot be dropped.
  const expired = sql`id < ${minUuidAt(new Date(nowMs - retentionDays * DAY_MS))}::uuid`;
  let deleted = await deleteOnHold(database, sql`status = 'pending' and ${expired}`);
  for (const { endpointId, newestId } of await endpointsBeyondLimit(database))
    deleted += await deleteOnHold(
      database,
      sql`${NEVER_ATTEMPTED} and ${forEndpoint(sql`${endpointId}::uuid`)} and id <= ${newestId}::uuid`,
      raw("endpoint_id, id"),
    );
  const dropped = await dropExpiredPartitions(database, nowMs, retentionDays);
  await ensurePartitions(database, nowMs, retentionDays);
  await deleteForgottenEndpoints(database);
  return { deleted, dropped };
}

/** Deletes the rows of deleted endpoints without deliveries. After a day, no transaction can still create one. */
async function deleteForgottenEndpoints(database: Queryable): Promise<void> {
  await database.query(sql`
    delete from webhook_endpoint endpoint where deleted_at < now() - interval '1 day'
      and not exists (select from webhook_delivery where endpoint_id = endpoint.id)`);
}

interface EndpointBeyondLimit {
  endpointId: string;
  /** The newest delivery to delete. */
  newestId: string;
}

/** Endpoints with more than `MAX_ON_HOLD`. Checks only the first lane, because retries do not accumulate during a pause. */
async function endpointsBeyondLimit(database: Queryable): Promise<EndpointBeyondLimit[]> {
  return database.query<EndpointBeyondLimit>(sql`
    select endpoint.id as "endpointId", beyond.id as "newestId"
    from webhook_endpoint endpoint join organization on organization.id = endpoint.organization_id
    cross join lateral (
      select id from webhook_delivery where ${NEVER_ATTEMPTED} and ${forEndpoint(raw("endpoint.id"))}
      order by endpoint_id desc, id desc offset ${MAX_ON_HOLD} limit 1
    ) beyond
    where endpoint.deleted_at is null and (endpoint.status <> 'active' or organization.suspended_at is not null)`);
}

/** Deletes the deliveries on hold that match `condition`. An index must provide `condition` in the order `orderBy`. */
async function deleteOnHold(database: Queryable, condition: Sql, orderBy: Sql = raw("id")): Promise<number> {
  let deleted = 0;
  for (;;) {
    const [row] = await queryWithRetry<{ count: number }>(
      database,
      sql`with deleted as (
        delete from webhook_delivery where status = 'pending' and id = any(array(
          select id from webhook_delivery where ${condition} and ${onHoldSql}
          order by ${orderBy} limit ${BATCH_SIZE}))
        returning 1
      ) select count(*)::int as count from deleted`,
    );
    deleted += row?.count ?? 0;
    if ((row?.count ?? 0) < BATCH_SIZE) return deleted;
  }
}
