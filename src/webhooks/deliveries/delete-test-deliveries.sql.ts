/** Deletes the delivery log of test organisations. That of live ones is purged by age only. */
import type { Database } from "../../core/postgres/database.ts";
import { raw, sql, type Sql } from "../../core/postgres/sql.ts";
import type { Transaction } from "../../core/postgres/transaction.ts";
import { queryWithRetry } from "./discard-pending.sql.ts";
import { FINISHED, forEndpoint, NEVER_ATTEMPTED, RETRYING } from "./queue-lanes.sql.ts";
import { lockReplaysTo } from "./replay.sql.ts";

/** Deliveries per transaction. Small, because a worker waits for it to record the result of a deleted delivery. */
const BATCH_SIZE = 1_000;

/** Where to look, in the order in which a delivery moves, and the partitions to delete from. */
const STAGES = [
  { where: NEVER_ATTEMPTED, partition: raw("status = 'pending'") },
  { where: RETRYING, partition: raw("status = 'pending'") },
  { where: FINISHED, partition: FINISHED },
];

/**
 * Deletes the deliveries and attempts of the endpoints of `organizationIds` (UUIDs) whose event does not exist: those of
 * deleted jobs, and test events. Each batch is a transaction. Returns the number of deliveries.
 */
export async function deleteTestDeliveries(
  database: Database,
  organizationIds: readonly string[],
): Promise<number> {
  const endpoints = await database.query<{ id: string }>(sql`
    select id from webhook_endpoint where organization_id = any(${[...organizationIds]}::uuid[]) order by id`);
  let deleted = 0;
  for (const { id } of endpoints) deleted += await deleteDeliveriesTo(database, id);
  return deleted;
}

/** Ends with a round that finds none: a replay that was in progress may have copied a delivery before it was deleted. */
async function deleteDeliveriesTo(database: Database, endpointId: string): Promise<number> {
  let total = 0;
  for (;;) {
    let deleted = 0;
    for (const stage of STAGES)
      for (let count = -1; count !== 0; deleted += count)
        count = await database.transaction((tx) => deleteBatch(tx, endpointId, stage));
    total += deleted;
    if (deleted === 0) return total;
  }
}

/**
 * Never waits for a row while it has locked another, because a worker records results in no fixed order: it skips locked rows,
 * and waits for one only if all that are left are locked.
 */
async function deleteBatch(
  tx: Transaction,
  endpointId: string,
  stage: (typeof STAGES)[number],
): Promise<number> {
  await lockReplaysTo(tx, endpointId);
  // A week that was empty when the statement was planned would be scanned later.
  await tx.query(raw("set local enable_seqscan = off"));
  const ofEndpoint = forEndpoint(sql`${endpointId}::uuid`);
  const deleteSql = (lock: Sql): Sql => sql`
    with batch as materialized (
      select id from webhook_delivery
      where ${stage.where} and ${ofEndpoint}
        -- A subquery, because an anti-join may scan all events.
        and (select event.id from job_event event where event.id = webhook_delivery.event_id) is null
      order by endpoint_id ${lock}
    )
    delete from webhook_delivery
    where ${stage.partition} and ${ofEndpoint} and id = any(array(select id from batch))
    returning id`;
  let rows = await queryWithRetry<{ id: string }>(
    tx,
    deleteSql(sql`limit ${BATCH_SIZE} for update skip locked`),
  );
  if (rows.length === 0) rows = await queryWithRetry<{ id: string }>(tx, deleteSql(sql`limit 1 for update`));
  // A statement of its own, which sees attempts that were recorded while the first one waited.
  if (rows.length > 0)
    await tx.query(
      sql`delete from webhook_attempt where delivery_id = any(${rows.map(({ id }) => id)}::uuid[])`,
    );
  return rows.length;
}
