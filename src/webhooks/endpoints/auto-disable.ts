/** Disables endpoints that have only failed for five days. */
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
/** At least two events must fail this far apart, so that neither one bad event nor one bad hour disables an endpoint. */
const MIN_SPREAD_MS = 12 * 3_600_000;
/** Longer than the retry schedule: older deliveries have finished. */
const LOOK_BACK_MS = 30 * 86_400_000;

interface AutoDisableDeps extends EndpointReadDeps {
  database: Database;
  /** If absent, owners get no mail. */
  alertNotifier?: AlertNotifier | undefined;
}

/**
 * Disables active endpoints for which nothing has succeeded for five days and at least two events failed 12 hours apart.
 * Returns the disabled endpoints.
 */
export async function disableFailing(deps: AutoDisableDeps): Promise<EndpointView[]> {
  const { database } = deps;
  // PostgreSQL's clock, so that a worker with a wrong clock cannot disable endpoints too early.
  const nowMs = await databaseNowMs(database);
  const failingSinceBefore = new Date(nowMs - DISABLE_AFTER_MS);
  const oldest = minUuidAt(new Date(nowMs - LOOK_BACK_MS));
  const candidates = await database.query<{ id: string }>(sql`
    select id from webhook_endpoint
    where status = 'active' and deleted_at is null and failing_since <= ${failingSinceBefore}::timestamptz`);
  const views: EndpointView[] = [];
  // One at a time: the check can read a long log and must not slow down deliveries.
  for (const { id } of candidates) {
    const isDisabled = await disableEndpoint(
      deps,
      disableEndpointSql(id, { before: failingSinceBefore, oldest }),
    );
    const endpoint = isDisabled ? await findEndpoint(deps, systemPrincipal, toTypedId("whe", id)) : null;
    if (endpoint) views.push(endpoint.view);
  }
  return views;
}

/** Disables the endpoint and alerts its owners in one transaction. Returns false if the endpoint was not disabled. */
function disableEndpoint({ database, alertNotifier }: AutoDisableDeps, statement: Sql): Promise<boolean> {
  return database.transaction(async (tx) => {
    const [alertRow] = await tx.query<EndpointAlertRow>(statement);
    if (alertRow) await alertNotifier?.(tx, toEndpointAlert(alertRow));
    return alertRow !== undefined;
  });
}

function disableEndpointSql(id: string, { before, oldest }: { before: Date; oldest: string }): Sql {
  // Deliveries that succeeded before the failures have no later attempts, so most attempts are not read.
  const deliveriesIn = (partition: Sql): Sql => sql`
    select id, event_id from webhook_delivery
    where ${partition} and endpoint_id = ${id}::uuid and id >= ${oldest}::uuid and origin <> 'test'`;
  // To find two events that failed far enough apart, the two earliest and the two latest suffice.
  return sql`
    update webhook_endpoint endpoint
    set status = 'disabled', disabled_reason = 'failing', status_since = now(), updated_at = now()
    where endpoint.id = ${id}::uuid and endpoint.status = 'active' and endpoint.deleted_at is null
      and endpoint.failing_since <= ${before}::timestamptz
      and exists (
        with failed as materialized (
          select delivery.event_id, min(attempt.started_at) as first, max(attempt.started_at) as last
          from (
            ${deliveriesIn(RETRYING)}
            union all
            ${deliveriesIn(FINISHED)} and attempts > 0
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
