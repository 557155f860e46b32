/**
 * Replays: another delivery of the same event to the same endpoint, in a row of its own, so that the receiver sees the same
 * `webhook-id` and the delivery before keeps its attempts. The mark of a restore stays: it may have been sent before.
 */
import { visibleTo } from "../jobs/job.visibility.ts";
import type { Database } from "../platform/database.ts";
import { AppError } from "../platform/errors.ts";
import { firstUuidOf, newUuidSql, toTypedId } from "../platform/ids.ts";
import { systemActor, type OrganizationType } from "../platform/principal.ts";
import { join, raw, sql, type Sql } from "../platform/sql.ts";
import { lockUntilEnd } from "../platform/transaction-lock.ts";
import type { Caller } from "./caller.ts";
import { AGAIN, FINISHED, FIRST, isOf } from "./delivery.lanes.ts";
import { getDeliveryRow } from "./delivery.queries.ts";
import { idOfNow, queryMoving } from "./moving.ts";
import type { TakeReplays } from "./replay-limit.ts";

export interface ReplayParts {
  database: Database;
  announce: () => void;
}

/** Of many deliveries. */
interface BulkParts extends ReplayParts {
  take: TakeReplays;
}

/** Replays one and answers with the typed id of the new delivery. */
export async function replayOne(
  { database, announce }: ReplayParts,
  caller: Caller,
  id: string,
): Promise<string> {
  const row = await getDeliveryRow(database, caller, id);
  if (row.origin === "test")
    throw new AppError("ConflictException", "A test event is not replayed. Send another to the endpoint.");
  if (row.is_endpoint_deleted)
    throw new AppError(
      "ConflictException",
      "The endpoint of this delivery was deleted, so nothing is sent there any more",
    );
  // One that still waits is given up in the same statement: its event is sent once, not twice.
  const [made] = await queryMoving<{ id: string }>(
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
    select ${newUuidSql}, endpoint_id, event_id, event_type, job_id, 'replay', after_restore from original
    returning id`,
  );
  if (!made)
    throw new AppError(
      "ConflictException",
      "This delivery is being sent at this moment. See how that ends first.",
    );
  announce();
  return toTypedId("dlv", made.id);
}

export interface BulkReplay {
  /** The uuid of an endpoint that the caller may see. */
  endpointId: string;
  since: Date;
}

/** A transaction's worth: long enough to be quick, short enough that nobody waits for it. */
const AT_ONCE = 2_000;

/** Replays what has died since then and has not been sent again in any way, and answers with how many that were. */
export async function replayFailed(parts: BulkParts, { endpointId, since }: BulkReplay): Promise<number> {
  // What died since then was made at most a schedule before; the log is no longer than this anyway.
  const oldest = firstUuidOf(new Date(since.getTime() - 31 * 86_400_000));
  // The replays that die meanwhile are left alone, so that it comes to an end.
  const newest = await idOfNow(parts.database);
  return await replayParts(
    parts,
    endpointId,
    (after) => sql`
      select id, event_id, event_type, job_id, after_restore from webhook_delivery dead
      where status = 'dead' and origin <> 'test' and endpoint_id = ${endpointId}::uuid
        and id > ${after ?? oldest}::uuid and id < ${newest}::uuid
        and finished_at >= ${since}::timestamptz
        and ${noOther(
          endpointId,
          sql`other.event_id = dead.event_id and other.id > dead.id and other.id > ${after ?? oldest}::uuid`,
        )}`,
  );
}

/** That the endpoint has no delivery, as `other`, like this: lane by lane, since no index finds what waits in both. */
function noOther(endpointId: string, like: Sql): Sql {
  const places = [
    ...[FIRST, AGAIN].map((lane) => sql`${lane} and ${isOf(sql`${endpointId}::uuid`)}`),
    sql`${FINISHED} and endpoint_id = ${endpointId}::uuid`,
  ];
  const none = places.map(
    (place) => sql`not exists (select from webhook_delivery other where ${place} and ${like})`,
  );
  return join(none, " and ");
}

export interface MissingReplay extends BulkReplay {
  organizationId: string;
  organizationType: OrganizationType;
  /** Null: all. */
  eventTypes: readonly string[] | null;
}

/** Delivers the events since then that the endpoint wants and never had a delivery of. */
export function replayMissing(parts: BulkParts, request: MissingReplay): Promise<number> {
  const { endpointId, since, eventTypes } = request;
  const viewer = { ...request, actor: systemActor };
  const oldest = firstUuidOf(since);
  // Deliveries are made with their events: none of these events has an older one, however clocks differ.
  const oldestDelivery = firstUuidOf(new Date(since.getTime() - 3_600_000));
  return replayParts(
    parts,
    endpointId,
    (after) => sql`
      select id, id as event_id, type as event_type, job_id, false as after_restore from job_event
      where ${visibleTo(viewer, "job_event")}
        and id > ${after ?? oldest}::uuid
        and (${eventTypes === null} or type = any(${eventTypes ?? []}::text[]))
        and ${noOther(
          endpointId,
          sql`other.event_id = job_event.id and other.id >= ${oldestDelivery}::uuid`,
        )}`,
  );
}

/** What one transaction of a replay has done; `last` is null where nothing was left. */
interface Replayed {
  last: string | null;
  count: number;
}

/**
 * Delivers `found(after)` again, rows of (id, event_id, event_type, job_id, after_restore) whose ids come after it, until
 * nothing is left: some at a time, each time in a transaction of its own, and tells the workers after each. Two replays of one
 * endpoint take turns: the later sees what the earlier has made.
 */
async function replayParts(
  { database, announce, take }: BulkParts,
  endpointId: string,
  found: (after: string | null) => Sql,
): Promise<number> {
  let replayed = 0;
  let after: string | null = null;
  for (;;) {
    take(AT_ONCE, replayed);
    const part: Sql = sql`
      with found as materialized (
        ${found(after)} order by id limit ${AT_ONCE}
      ), made as (
        insert into webhook_delivery (id, endpoint_id, event_id, event_type, job_id, origin, after_restore)
        select ${newUuidSql}, ${endpointId}::uuid, event_id, event_type, job_id, 'replay', after_restore
        from found order by id
      )
      select (select id from found order by id desc limit 1) as last, (select count(*)::int from found) as count`;
    const [made]: Replayed[] = await database.transaction(async (tx) => {
      await lockUntilEnd(tx, `replay to ${endpointId}`);
      // Neither events nor deliveries are found by (endpoint, event): without this, PostgreSQL may choose to look through
      // all of one for each of the other.
      await tx.query(raw("set local enable_nestloop = off"));
      return await tx.query<Replayed>(part);
    });
    const count = made?.count ?? 0;
    take(count - AT_ONCE, replayed);
    if (count > 0) announce();
    replayed += count;
    if (!made || count < AT_ONCE) return replayed;
    after = made.last;
  }
}
