/**
 * Replays: another delivery of the same event to the same endpoint, in a row of its own, so that the receiver sees the same
 * `webhook-id` and the delivery before keeps its attempts. The mark of a restore stays: it may have been sent before.
 */
import { visibleTo } from "../../jobs/api.ts";
import type { Database } from "../../platform/postgres/database.ts";
import { AppError } from "../../platform/errors.ts";
import { minUuidAt, uuidV7Sql, toTypedId } from "../../platform/ids.ts";
import { systemActor, type OrganizationType } from "../../platform/principal.ts";
import { join, raw, sql, type Sql } from "../../platform/postgres/sql.ts";
import { lockForTransaction } from "../../platform/postgres/transaction-lock.ts";
import type { WebhookPrincipal } from "../tenant-scope.ts";
import { RETRYING, FINISHED, NEVER_ATTEMPTED, forEndpoint } from "./queue.sql.ts";
import { getDeliveryRow } from "./queries.ts";
import { currentUuid, queryWithRetry } from "./discard.ts";
import type { ReserveReplays } from "./replay-limit.ts";

export interface ReplayDeps {
  database: Database;
  notifyWorkers: () => void;
}

/** Of many deliveries. */
interface ReplayManyDeps extends ReplayDeps {
  reserve: ReserveReplays;
}

/** Replays one and answers with the typed id of the new delivery. */
export async function replayDelivery(
  { database, notifyWorkers }: ReplayDeps,
  principal: WebhookPrincipal,
  id: string,
): Promise<string> {
  const row = await getDeliveryRow(database, principal, id);
  if (row.origin === "test")
    throw new AppError("ConflictException", "A test event is not replayed. Send another to the endpoint.");
  if (row.is_endpoint_deleted)
    throw new AppError(
      "ConflictException",
      "The endpoint of this delivery was deleted, so nothing is sent there any more",
    );
  // One that still waits is given up in the same statement: its event is sent once, not twice.
  const [created] = await queryWithRetry<{ id: string }>(
    database,
    sql`
    with original as materialized (
      select id, status, endpoint_id, event_id, event_type, job_id, after_restore from webhook_delivery
      where id = ${row.id} and not (status = 'pending' and lease_token is not null and due_at > clock_timestamp())
      for update
    ), given_up as (
      update webhook_delivery set status = 'discarded', lease_token = null, finished_at = clock_timestamp()
      from original
      where original.status = 'pending' and webhook_delivery.status = 'pending' and webhook_delivery.id = original.id
    )
    insert into webhook_delivery (id, endpoint_id, event_id, event_type, job_id, origin, after_restore)
    select ${uuidV7Sql}, endpoint_id, event_id, event_type, job_id, 'replay', after_restore from original
    returning id`,
  );
  if (!created)
    throw new AppError(
      "ConflictException",
      "This delivery is being sent at this moment. See how that ends first.",
    );
  notifyWorkers();
  return toTypedId("dlv", created.id);
}

export interface ReplayFailedRequest {
  /** The uuid of an endpoint that the caller may see. */
  endpointId: string;
  since: Date;
}

/** A transaction's worth: long enough to be quick, short enough that nobody waits for it. */
const BATCH_SIZE = 2_000;

/** Replays what has died since then and has not been sent again in any way, and answers with how many that were. */
export async function replayFailed(
  deps: ReplayManyDeps,
  { endpointId, since }: ReplayFailedRequest,
): Promise<number> {
  // What died since then was made at most a schedule before; the log is no longer than this anyway.
  const oldest = minUuidAt(new Date(since.getTime() - 31 * 86_400_000));
  // The replays that die meanwhile are left alone, so that it comes to an end.
  const newest = await currentUuid(deps.database);
  return await replayInBatches(
    deps,
    endpointId,
    (after) => sql`
      select id, event_id, event_type, job_id, after_restore from webhook_delivery dead
      where status = 'dead' and origin <> 'test' and endpoint_id = ${endpointId}::uuid
        and id > ${after ?? oldest}::uuid and id < ${newest}::uuid
        and finished_at >= ${since}::timestamptz
        and ${noOtherDelivery(
          endpointId,
          sql`other.event_id = dead.event_id and other.id > dead.id and other.id > ${after ?? oldest}::uuid`,
        )}`,
  );
}

/** That the endpoint has no delivery, as `other`, like this: lane by lane, since no index finds what waits in both. */
function noOtherDelivery(endpointId: string, like: Sql): Sql {
  const partitions = [
    ...[NEVER_ATTEMPTED, RETRYING].map((lane) => sql`${lane} and ${forEndpoint(sql`${endpointId}::uuid`)}`),
    sql`${FINISHED} and endpoint_id = ${endpointId}::uuid`,
  ];
  const absences = partitions.map(
    (partition) => sql`not exists (select from webhook_delivery other where ${partition} and ${like})`,
  );
  return join(absences, " and ");
}

export interface ReplayMissingRequest extends ReplayFailedRequest {
  organizationId: string;
  organizationType: OrganizationType;
  /** Null: all. */
  eventTypes: readonly string[] | null;
}

/** Delivers the events since then that the endpoint wants and never had a delivery of. */
export function replayMissing(deps: ReplayManyDeps, request: ReplayMissingRequest): Promise<number> {
  const { endpointId, since, eventTypes } = request;
  const principal = { ...request, actor: systemActor };
  const oldest = minUuidAt(since);
  // Deliveries are made with their events: none of these events has an older one, however clocks differ.
  const oldestDelivery = minUuidAt(new Date(since.getTime() - 3_600_000));
  return replayInBatches(
    deps,
    endpointId,
    (after) => sql`
      select id, id as event_id, type as event_type, job_id, false as after_restore from job_event
      where ${visibleTo(principal, "job_event")}
        and id > ${after ?? oldest}::uuid
        and (${eventTypes === null} or type = any(${eventTypes ?? []}::text[]))
        and ${noOtherDelivery(
          endpointId,
          sql`other.event_id = job_event.id and other.id >= ${oldestDelivery}::uuid`,
        )}`,
  );
}

/** What one transaction of a replay has done; `last` is null where nothing was left. */
interface ReplayBatchResult {
  last: string | null;
  count: number;
}

/**
 * Delivers `found(after)` again, rows of (id, event_id, event_type, job_id, after_restore) whose ids come after it, until
 * nothing is left: some at a time, each time in a transaction of its own, and tells the workers after each. Two replays of one
 * endpoint take turns: the later sees what the earlier has made.
 */
async function replayInBatches(
  { database, notifyWorkers, reserve }: ReplayManyDeps,
  endpointId: string,
  selectBatch: (after: string | null) => Sql,
): Promise<number> {
  let replayed = 0;
  let after: string | null = null;
  for (;;) {
    reserve(BATCH_SIZE, replayed);
    const batchSql: Sql = sql`
      with found as materialized (
        ${selectBatch(after)} order by id limit ${BATCH_SIZE}
      ), made as (
        insert into webhook_delivery (id, endpoint_id, event_id, event_type, job_id, origin, after_restore)
        select ${uuidV7Sql}, ${endpointId}::uuid, event_id, event_type, job_id, 'replay', after_restore
        from found order by id
      )
      select (select id from found order by id desc limit 1) as last, (select count(*)::int from found) as count`;
    const [batch]: ReplayBatchResult[] = await database.transaction(async (tx) => {
      await lockForTransaction(tx, `replay to ${endpointId}`);
      // Neither events nor deliveries are found by (endpoint, event): without this, PostgreSQL may choose to look through
      // all of one for each of the other.
      await tx.query(raw("set local enable_nestloop = off"));
      return await tx.query<ReplayBatchResult>(batchSql);
    });
    const count = batch?.count ?? 0;
    reserve(count - BATCH_SIZE, replayed);
    if (count > 0) notifyWorkers();
    replayed += count;
    if (!batch || count < BATCH_SIZE) return replayed;
    after = batch.last;
  }
}
