/**
 * Replays events: creates another delivery of the same event to the same endpoint, with the same `webhook-id`. The original
 * keeps its attempts. `after_restore` is copied.
 */
import { visibleTo } from "../../jobs/api.ts";
import type { Database } from "../../platform/postgres/database.ts";
import { AppError } from "../../platform/errors.ts";
import { minUuidAt, uuidV7Sql, toTypedId } from "../../platform/ids.ts";
import { systemActor, type OrganizationType } from "../../platform/principal.ts";
import { join, raw, sql, type Sql } from "../../platform/postgres/sql.ts";
import { lockForTransaction } from "../../platform/postgres/transaction-lock.ts";
import { HOUR_MS, DAY_MS } from "../../platform/time.ts";
import type { WebhookPrincipal } from "../webhook-principal.ts";
import { RETRYING, FINISHED, NEVER_ATTEMPTED, forEndpoint } from "./queue-lanes.sql.ts";
import { getDeliveryRow } from "./log-pages.sql.ts";
import { currentUuid, queryWithRetry } from "./discard-pending.sql.ts";
import type { ReserveReplays } from "./replay-limit.ts";

export interface ReplayDeps {
  database: Database;
  notifyWorkers: () => void;
}

interface ReplayManyDeps extends ReplayDeps {
  reserve: ReserveReplays;
}

/** Replays one delivery and returns the typed id of the new one. Throws ConflictException if it cannot be replayed. */
export async function replayDelivery(
  { database, notifyWorkers }: ReplayDeps,
  principal: WebhookPrincipal,
  id: string,
): Promise<string> {
  const row = await getDeliveryRow(database, principal, id);
  if (row.origin === "test")
    throw new AppError(
      "ConflictException",
      "A test event cannot be replayed. Send another one to the endpoint.",
    );
  if (row.isEndpointDeleted)
    throw new AppError(
      "ConflictException",
      "The endpoint of this delivery was deleted, so the delivery cannot be replayed",
    );
  // A pending original is discarded in the same statement, so that the event is not sent twice.
  const [created] = await queryWithRetry<{ id: string }>(
    database,
    sql`
    with original as materialized (
      select id, status, endpoint_id, event_id, event_type, job_id, after_restore from webhook_delivery
      where id = ${row.id} and not (status = 'pending' and lease_token is not null and due_at > clock_timestamp())
      for update
    ), discarded as (
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
      "This delivery is in flight. Wait for the result of the attempt.",
    );
  notifyWorkers();
  return toTypedId("dlv", created.id);
}

export interface ReplayFailedRequest {
  /** UUID. The caller checks that the principal can access the endpoint. */
  endpointId: string;
  since: Date;
}

/** Deliveries per transaction. */
const BATCH_SIZE = 2_000;

/** Replays the deliveries that failed since `since` and whose event has no newer delivery. Returns their number. */
export async function replayFailed(
  deps: ReplayManyDeps,
  { endpointId, since }: ReplayFailedRequest,
): Promise<number> {
  // A delivery fails at most one retry schedule after its creation; 31 days is more than that and than the log covers.
  const oldest = minUuidAt(new Date(since.getTime() - 31 * DAY_MS));
  // Ignores replays that fail meanwhile, so that the loop ends.
  const newest = await currentUuid(deps.database);
  return await replayInBatches(
    deps,
    endpointId,
    (after) => sql`
      select id, event_id, event_type, job_id, after_restore from webhook_delivery original
      where status = 'failed' and origin <> 'test' and endpoint_id = ${endpointId}::uuid
        and id > ${after ?? oldest}::uuid and id < ${newest}::uuid
        and finished_at >= ${since}::timestamptz
        and ${noOtherDelivery(
          endpointId,
          sql`other.event_id = original.event_id and other.id > original.id and other.id > ${after ?? oldest}::uuid`,
        )}`,
  );
}

/** SQL condition: the endpoint has no delivery `other` that matches `condition`. Checks each lane, as no index covers both. */
function noOtherDelivery(endpointId: string, condition: Sql): Sql {
  const partitions = [
    ...[NEVER_ATTEMPTED, RETRYING].map((lane) => sql`${lane} and ${forEndpoint(sql`${endpointId}::uuid`)}`),
    sql`${FINISHED} and endpoint_id = ${endpointId}::uuid`,
  ];
  const absences = partitions.map(
    (partition) => sql`not exists (select from webhook_delivery other where ${partition} and ${condition})`,
  );
  return join(absences, " and ");
}

export interface ReplayMissingRequest extends ReplayFailedRequest {
  organizationId: string;
  organizationType: OrganizationType;
  /** Null: all types. */
  eventTypes: readonly string[] | null;
}

/** Delivers the endpoint's events since `since` that it never had a delivery of. Returns their number. */
export function replayMissing(deps: ReplayManyDeps, request: ReplayMissingRequest): Promise<number> {
  const { endpointId, since, eventTypes } = request;
  const principal = { ...request, actor: systemActor };
  const oldest = minUuidAt(since);
  // Deliveries are created with their events; an hour of slack covers clock differences.
  const oldestDelivery = minUuidAt(new Date(since.getTime() - HOUR_MS));
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

/** `last` is the id of the last replayed row; null if none was left. */
interface ReplayBatchResult {
  last: string | null;
  count: number;
}

/**
 * Creates deliveries for the rows of `selectBatch(after)` in batches until none is left, and notifies the workers after each.
 * The rows have (id, event_id, event_type, job_id, after_restore). A lock per endpoint makes concurrent replays see each
 * other's deliveries.
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
      with batch as materialized (
        ${selectBatch(after)} order by id limit ${BATCH_SIZE}
      ), created as (
        insert into webhook_delivery (id, endpoint_id, event_id, event_type, job_id, origin, after_restore)
        select ${uuidV7Sql}, ${endpointId}::uuid, event_id, event_type, job_id, 'replay', after_restore
        from batch order by id
      )
      select (select id from batch order by id desc limit 1) as last, (select count(*)::int from batch) as count`;
    const [batch]: ReplayBatchResult[] = await database.transaction(async (tx) => {
      await lockForTransaction(tx, `replay to ${endpointId}`);
      // No index covers (endpoint, event), so a nested loop would scan all deliveries for each event.
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
