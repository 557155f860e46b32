/** Endpoints that have only failed for days: they are disabled, so that a receiver that is gone is not called for ever. */
import type { Database } from "../../platform/postgres/database.ts";
import { databaseNowMs } from "../../platform/postgres/clock.ts";
import { sql, type Sql } from "../../platform/postgres/sql.ts";
import { minUuidAt, toTypedId } from "../../platform/ids.ts";
import { systemPrincipal } from "../tenant-scope.ts";
import { RETRYING, FINISHED } from "../deliveries/queue.sql.ts";
import { findEndpoint, type EndpointReadDeps } from "./queries.ts";
import { toEndpointAlert, type AlertNotifier, type EndpointAlertRow } from "./alerts.ts";
import type { EndpointView } from "./view.ts";

const DISABLE_AFTER_MS = 5 * 86_400_000;
/** One event that fails may be that event's fault; so may several of one bad hour. */
const MIN_SPREAD_MS = 12 * 3_600_000;
/** A delivery is over by then, however it ended. */
const LOOK_BACK_MS = 30 * 86_400_000;

interface AutoDisableDeps extends EndpointReadDeps {
  database: Database;
  /** Absent: nobody is told. */
  alertNotifier?: AlertNotifier | undefined;
}

/**
 * Disables active endpoints of which nothing has succeeded for five days while at least two events failed at least twelve
 * hours apart. Answers with those that it disabled.
 */
export async function disableFailing(deps: AutoDisableDeps): Promise<EndpointView[]> {
  const { database } = deps;
  // PostgreSQL's clock: a worker whose own is days ahead must not disable endpoints that fail since an hour.
  const nowMs = await databaseNowMs(database);
  const failingSinceBefore = new Date(nowMs - DISABLE_AFTER_MS);
  const oldest = minUuidAt(new Date(nowMs - LOOK_BACK_MS));
  const candidates = await database.query<{ id: string }>(sql`
    select id from webhook_endpoint
    where status = 'active' and deleted_at is null and failing_since <= ${failingSinceBefore}::timestamptz`);
  const views: EndpointView[] = [];
  // One at a time: each may have a long log, and what is being sent comes first.
  for (const { id } of candidates) {
    const isDisabled = await disableEndpoint(
      deps,
      disableEndpointSql(id, { before: failingSinceBefore, oldest }),
    );
    const found = isDisabled ? await findEndpoint(deps, systemPrincipal, toTypedId("whe", id)) : null;
    if (found) views.push(found.view);
  }
  return views;
}

/** Whether the endpoint was disabled; then it is also told, in the same transaction. */
function disableEndpoint({ database, alertNotifier }: AutoDisableDeps, statement: Sql): Promise<boolean> {
  return database.transaction(async (tx) => {
    const [alertRow] = await tx.query<EndpointAlertRow>(statement);
    if (alertRow) await alertNotifier?.(tx, toEndpointAlert(alertRow));
    return alertRow !== undefined;
  });
}

function disableEndpointSql(id: string, { before, oldest }: { before: Date; oldest: string }): Sql {
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
            ${ofEndpoint(RETRYING)}
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
            on late.event_id <> early.event_id and late.last >= early.first + ${MIN_SPREAD_MS} * interval '1 ms')
    returning id, url, organization_id, 'failing' as kind`;
}
