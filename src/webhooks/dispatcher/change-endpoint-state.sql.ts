/** Writes the changes to an endpoint that follow from attempts: failing, recovered, paused, circuit opened, disabled. */
import type { Database } from "../../core/postgres/database.ts";
import { sql, type Sql } from "../../core/postgres/sql.ts";
import type { AlertNotifier, EndpointAlert } from "../endpoints/alerts.ts";
import type { EndpointStateChange } from "./retry-or-disable.ts";

/** Writes the changes, by endpoint id, and sends due alerts in the same transaction. */
export async function applyStateChanges(
  { database, alertNotifier }: { database: Database; alertNotifier?: AlertNotifier | undefined },
  changes: ReadonlyMap<string, EndpointStateChange>,
): Promise<void> {
  const someNeedAlert = [...changes.values()].some(
    ({ disabledReason, needsAlert }) => disabledReason ?? needsAlert,
  );
  if (!someNeedAlert || !alertNotifier) await database.query(stateChangeSql(changes));
  else
    await database.transaction(async (tx) => {
      for (const alert of await tx.query<EndpointAlert | { kind: null }>(stateChangeSql(changes)))
        if (alert.kind !== null) await alertNotifier(tx, alert);
    });
}

/** Limits alerts to one per period of failure and one per day. */
const isAlertDue = sql`(last_alert_at is null or (
  last_alert_at < clock_timestamp() - interval '1 day' and last_alert_at < coalesce(failing_since, clock_timestamp())))`;

function stateChangeSql(changes: ReadonlyMap<string, EndpointStateChange>): Sql {
  const input = Array.from(changes, ([id, change]) => ({
    id,
    version: change.version,
    is_failing: change.isFailing,
    pause_ms: change.pauseMs,
    circuit: change.circuit === undefined ? "unchanged" : change.circuit === null ? "closed" : "open",
    step: change.circuit?.step,
    disable: change.disabledReason,
    needs_alert: change.needsAlert ?? false,
  }));
  // Rows are locked in id order, so that workers wait for each other and cannot deadlock.
  return sql`
    with change as materialized (
      select change.*, case
          when disable is not null then case when status <> 'disabled' then disable end
          when needs_alert and ${isAlertDue} then 'retries_failing'
        end as alert
      from jsonb_to_recordset(${JSON.stringify(input)}::jsonb)
        as change (id uuid, version int, is_failing boolean, pause_ms float8, circuit text, step int, disable text,
          needs_alert boolean)
        join webhook_endpoint using (id, version) order by id for update of webhook_endpoint
    )
    update webhook_endpoint set
      failing_since = case when is_failing then coalesce(failing_since, clock_timestamp())
        when not is_failing then null else failing_since end,
      circuit_step = case circuit when 'closed' then null when 'open' then greatest(circuit_step, step) else circuit_step end,
      blocked_until = case when pause_ms is not null
          then greatest(blocked_until, clock_timestamp() + pause_ms * interval '1 ms')
        when circuit = 'closed' then null else blocked_until end,
      status = case when disable is null then status else 'disabled' end,
      disabled_reason = coalesce(disable, disabled_reason),
      status_since = case when disable is null then status_since else clock_timestamp() end,
      last_alert_at = case when alert = 'retries_failing' then clock_timestamp() else last_alert_at end
    from change where webhook_endpoint.id = change.id
    returning webhook_endpoint.id, url, organization_id as "organizationId", alert as kind`;
}
