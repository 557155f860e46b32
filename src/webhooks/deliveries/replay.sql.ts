/**
 * Replays events: creates another delivery of the same event to the same endpoint, with the same `webhook-id`. The original
 * keeps its attempts. `after_restore` is copied.
 */
import { visibleTo } from "../../jobs/api.ts";
import type { Database } from "../../core/postgres/database.ts";
import { AppError } from "../../core/errors.ts";
import { minUuidAt, timestampOf, uuidV7Sql } from "../../core/ids.ts";
import type { OrganizationType } from "../../core/principal.ts";
import { join, raw, sql, type Sql } from "../../core/postgres/sql.ts";
import type { InTransaction, Transaction } from "../../core/postgres/transaction.ts";
import { lockForTransaction } from "../../core/postgres/transaction-lock.ts";
import { HOUR_MS, DAY_MS } from "../../core/time.ts";
import { RETRYING, FINISHED, NEVER_ATTEMPTED, forEndpoint } from "./queue-lanes.sql.ts";
import type { DeliveryDetailRow } from "./log-lookups.sql.ts";
import { deliveryCursor } from "./log-pages.sql.ts";
import { currentUuid, queryWithRetry } from "./discard-pending.sql.ts";
import type { ReserveReplays } from "./replay-limit.ts";

export interface ReplayDeps extends InTransaction {
  database: Database;
  notifyWorkers: (endpointIds?: readonly string[]) => void;
}

interface ReplayManyDeps extends ReplayDeps {
  reserve: ReserveReplays;
}

const conflict = (message: string): AppError => new AppError("ConflictException", message);

/** Returns why the delivery can't be replayed; null if it can, unless it is in flight. */
export function replayRefusal(row: DeliveryDetailRow): AppError | null {
  if (row.origin === "test")
    return conflict("A test event cannot be replayed. Send another one to the endpoint.");
  if (!row.isEndpointDeleted) return null;
  return conflict("The endpoint of this delivery was deleted, so the delivery cannot be replayed");
}

export const inFlightRefusal = (): AppError =>
  conflict("This delivery is in flight. Wait for the result of the attempt.");

/** Replays deliveries (UUIDs) and returns the new ids by those of the originals. Those in flight are missing. */
export async function replayByIds(deps: ReplayDeps, ids: readonly string[]): Promise<Map<string, string>> {
  // A pending original is discarded in the same statement, so that the event is not sent twice.
  const created = await queryWithRetry<{ original: string; id: string }>(
    deps.tx ?? deps.database,
    sql`
    with original as materialized (
      select id, status, endpoint_id, event_id, event_type, job_id, after_restore, ${uuidV7Sql} as replay_id from webhook_delivery
      where id = any(${ids}::uuid[]) and not (status = 'pending' and lease_token is not null and due_at > clock_timestamp())
      order by id for update
    ), discarded as (
      update webhook_delivery set status = 'discarded', lease_token = null, finished_at = clock_timestamp()
      from original
      where original.status = 'pending' and webhook_delivery.status = 'pending' and webhook_delivery.id = original.id
    ), created as (
      insert into webhook_delivery (id, endpoint_id, event_id, event_type, job_id, origin, after_restore)
      select replay_id, endpoint_id, event_id, event_type, job_id, 'replay', after_restore from original
    )
    select id as original, replay_id as id from original`,
  );
  if (created.length > 0) notifyAfterCommit(deps);
  return new Map(created.map(({ original, id }) => [original, id]));
}

function notifyAfterCommit({ tx, notifyWorkers }: ReplayDeps): void {
  if (tx) tx.afterCommit(() => notifyWorkers());
  else notifyWorkers();
}

export interface ReplayFailedRequest {
  /** UUID. The caller checks that the principal can access the endpoint. */
  endpointId: string;
  since: Date;
  /** Default: now. */
  until?: Date | undefined;
}

export interface ReplayResult {
  replayed: number;
  /** The cursor of a list of the new deliveries, and of others that were replayed to the endpoint meanwhile; null if none. */
  cursor: string | null;
  /** Events may be left: the same request replays them. */
  hasMore: boolean;
}

/** Deliveries per statement. */
const BATCH_SIZE = 2_000;
/** Deliveries of one request, which may hold a transaction until the last of them. */
const MAX_REPLAYED = 50_000;

/** Replays the deliveries that failed in the time range and whose event has no newer delivery. */
export async function replayFailed(
  deps: ReplayManyDeps,
  { endpointId, since, until }: ReplayFailedRequest,
): Promise<ReplayResult> {
  // A delivery fails at most one retry schedule after its creation; 31 days is more than that and than the log covers.
  const oldest = minUuidAt(new Date(since.getTime() - 31 * DAY_MS));
  // Ignores replays that fail meanwhile, so that the loop ends.
  const newest = await currentUuid(deps.tx ?? deps.database);
  return await replayInBatches(
    deps,
    endpointId,
    (after) => sql`
      select id, event_id, event_type, job_id, after_restore from webhook_delivery original
      where status = 'failed' and origin <> 'test' and endpoint_id = ${endpointId}::uuid
        and id > ${after ?? oldest}::uuid and id < ${newest}::uuid
        and finished_at >= ${since}::timestamptz
        and (${until === undefined} or finished_at < ${until ?? since}::timestamptz)
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

/** Delivers the endpoint's events of the time range that it never had a delivery of. */
export function replayMissing(deps: ReplayManyDeps, request: ReplayMissingRequest): Promise<ReplayResult> {
  const { endpointId, since, until, eventTypes } = request;
  const oldest = minUuidAt(since);
  // Deliveries are created with their events; an hour of slack covers clock differences.
  const oldestDelivery = minUuidAt(new Date(since.getTime() - HOUR_MS));
  return replayInBatches(
    deps,
    endpointId,
    (after) => sql`
      select id, id as event_id, type as event_type, (job ->> 'id')::uuid as job_id, false as after_restore from job_event
      where ${visibleTo(request, "job_event")}
        and id > ${after ?? oldest}::uuid and (${until === undefined} or id < ${minUuidAt(until ?? since)}::uuid)
        and (${eventTypes === null} or type = any(${eventTypes ?? []}::text[]))
        and ${noOtherDelivery(
          endpointId,
          sql`other.event_id = job_event.id and other.id >= ${oldestDelivery}::uuid`,
        )}`,
  );
}

interface ReplayBatchResult {
  /** The id of the last row of the batch; null if none was left. */
  last: string | null;
  count: number;
  /** The lowest and the highest id of the new deliveries. */
  lowest: string | null;
  highest: string | null;
}

/**
 * Creates deliveries for the rows of `selectBatch(after)` in batches, up to the limits, and notifies the workers after each.
 * The rows have (id, event_id, event_type, job_id, after_restore). A lock per endpoint makes concurrent replays see each
 * other's deliveries.
 */
async function replayInBatches(
  deps: ReplayManyDeps,
  endpointId: string,
  selectBatch: (after: string | null) => Sql,
): Promise<ReplayResult> {
  const { database, tx, reserve } = deps;
  const createBatch = async (own: Transaction, after: string | null): Promise<ReplayBatchResult> => {
    await lockReplaysTo(own, endpointId);
    // No index covers (endpoint, event), so a nested loop would scan all deliveries for each event.
    await own.query(raw("set local enable_nestloop = off"));
    const [batch] = await own.query<ReplayBatchResult>(batchSql(endpointId, selectBatch(after)));
    return batch as ReplayBatchResult;
  };
  const total = { replayed: 0, first: null as string | null, newest: "" };
  let after: string | null = null;
  let hasMore = true;
  while (hasMore && total.replayed < MAX_REPLAYED) {
    if (!reserve(BATCH_SIZE)) break;
    const from: string | null = after;
    const batch: ReplayBatchResult = tx
      ? await createBatch(tx, from)
      : await database.transaction((own) => createBatch(own, from));
    const { count, last, lowest, highest } = batch;
    reserve(count - BATCH_SIZE);
    if (count > 0) notifyAfterCommit(deps);
    total.replayed += count;
    total.first ??= lowest;
    total.newest = highest ?? total.newest;
    hasMore = count === BATCH_SIZE;
    after = last;
  }
  const { replayed, first, newest } = total;
  if (first === null) return { replayed, cursor: null, hasMore };
  const before = minUuidAt(new Date(Date.parse(timestampOf(newest)) + 1));
  return { replayed, cursor: deliveryCursor({ before, replay: { endpointId, first } }), hasMore };
}

/** Waits for replays of many deliveries to the endpoint (UUID), and holds back others until `tx` ends. */
export function lockReplaysTo(tx: Transaction, endpointId: string): Promise<void> {
  return lockForTransaction(tx, `replay to ${endpointId}`);
}

/** `selected`: the query of the rows to replay. */
function batchSql(endpointId: string, selected: Sql): Sql {
  return sql`
    with batch as materialized (
      ${selected} order by id limit ${BATCH_SIZE}
    ), created as (
      insert into webhook_delivery (id, endpoint_id, event_id, event_type, job_id, origin, after_restore)
      select ${uuidV7Sql}, ${endpointId}::uuid, event_id, event_type, job_id, 'replay', after_restore
      from batch order by id
      returning id
    )
    select (select id from batch order by id desc limit 1) as last, (select count(*)::int from batch) as count,
      (select id from created order by id limit 1) as lowest, (select id from created order by id desc limit 1) as highest`;
}
