/** Endpoints that have only failed for days: they are disabled, so that a receiver that is gone is not called for ever. */
import type { Database } from "../platform/database.ts";
import { databaseNowMs } from "../platform/database-time.ts";
import { sql, type Sql } from "../platform/sql.ts";
import { firstUuidOf, toTypedId } from "../platform/ids.ts";
import { operator } from "./caller.ts";
import { AGAIN, FINISHED } from "./delivery.lanes.ts";
import { findEndpoint, type ReadParts } from "./endpoint.queries.ts";
import { toTrouble, type TellOfTrouble, type TroubleRow } from "./endpoint.trouble.ts";
import type { EndpointView } from "./endpoint.view.ts";

const FAILING_MS = 5 * 86_400_000;
/** One event that fails may be that event's fault; so may several of one bad hour. */
const APART_MS = 12 * 3_600_000;
/** A delivery is over by then, however it ended. */
const LOOK_BACK_MS = 30 * 86_400_000;

interface FailingParts extends ReadParts {
  database: Database;
  /** Absent: nobody is told. */
  tellOfTrouble?: TellOfTrouble | undefined;
}

/**
 * Disables active endpoints of which nothing has succeeded for five days while at least two events failed at least twelve
 * hours apart. Answers with those that it disabled.
 */
export async function disableFailing(parts: FailingParts): Promise<EndpointView[]> {
  const { database } = parts;
  // PostgreSQL's clock: a worker whose own is days ahead must not disable endpoints that fail since an hour.
  const nowMs = await databaseNowMs(database);
  const before = new Date(nowMs - FAILING_MS);
  const oldest = firstUuidOf(new Date(nowMs - LOOK_BACK_MS));
  const candidates = await database.query<{ id: string }>(sql`
    select id from webhook_endpoint
    where status = 'active' and deleted_at is null and failing_since <= ${before}::timestamptz`);
  const views: EndpointView[] = [];
  // One at a time: each may have a long log, and what is being sent comes first.
  for (const { id } of candidates) {
    const isDisabled = await disable(parts, disableStatement(id, { before, oldest }));
    const found = isDisabled ? await findEndpoint(parts, operator, toTypedId("whe", id)) : null;
    if (found) views.push(found.view);
  }
  return views;
}

/** Whether the endpoint was disabled; then it is also told, in the same transaction. */
function disable({ database, tellOfTrouble }: FailingParts, statement: Sql): Promise<boolean> {
  return database.transaction(async (tx) => {
    const [trouble] = await tx.query<TroubleRow>(statement);
    if (trouble) await tellOfTrouble?.(tx, toTrouble(trouble));
    return trouble !== undefined;
  });
}

function disableStatement(id: string, { before, oldest }: { before: Date; oldest: string }): Sql {
  // What was delivered before it began to fail has no attempt since: the attempts of most deliveries are not looked at.
  const ofEndpoint = (place: Sql): Sql => sql`
    select id, event_id from webhook_delivery
    where ${place} and endpoint_id = ${id}::uuid and id >= ${oldest}::uuid and origin <> 'test'`;
  // Of the pairs of events the two that failed first and the two that failed last are enough to look at.
  return sql`
    update webhook_endpoint endpoint
    set status = 'disabled', disabled_reason = 'failing', status_since = now(), updated_at = now()
    where endpoint.id = ${id}::uuid and endpoint.status = 'active' and endpoint.deleted_at is null
      and endpoint.failing_since <= ${before}::timestamptz
      and exists (
        with failed as materialized (
          select delivery.event_id, min(attempt.started_at) as first, max(attempt.started_at) as last
          from (
            ${ofEndpoint(AGAIN)}
            union all
            ${ofEndpoint(FINISHED)} and attempts > 0
              and (status <> 'delivered' or finished_at >= endpoint.failing_since)
          ) delivery join webhook_attempt attempt on attempt.delivery_id = delivery.id
          where attempt.delivery_id >= ${oldest}::uuid
            and attempt.started_at >= endpoint.failing_since and attempt.outcome <> 'delivered'
          group by delivery.event_id
        )
        select from (select * from failed order by first limit 2) early
          join (select * from failed order by last desc limit 2) late
            on late.event_id <> early.event_id and late.last >= early.first + ${APART_MS} * interval '1 ms')
    returning id, url, organization_id, 'failing' as kind`;
}
