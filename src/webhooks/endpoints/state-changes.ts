/** Changes to an endpoint's state that follow from attempts: failing, recovered, paused, circuit opened, disabled. */
import type { Database } from "../../platform/postgres/database.ts";
import { sql, type Sql } from "../../platform/postgres/sql.ts";
import { probeDelayMs, type CircuitWindow } from "./circuit.ts";
import type { Lease } from "../dispatcher/claim.ts";
import type { DisabledReason } from "./entity.ts";
import { isAlertDueSql, toEndpointAlert, type AlertNotifier, type EndpointAlertRow } from "./alerts.ts";
import type { Decision } from "../dispatcher/retry-policy.ts";

/** Absent properties keep their value. */
export interface EndpointStateChange {
  /** The endpoint's version at the attempt. The change is dropped if the endpoint was updated or resumed since. */
  version: number;
  isFailing?: boolean;
  /** Send nothing for this time. */
  pauseMs?: number;
  /** `step` opens the circuit and is the number of failed probes; null closes it. */
  circuit?: { step: number } | null;
  disabledReason?: DisabledReason;
  /** A delivery has failed four times; alert the owners. */
  needsAlert?: true;
}

/** The fourth attempt is more than half an hour after the first, so it is not a short outage. */
const ALERT_AFTER_ATTEMPTS = 4;

/** Counts the attempt in `window` and returns the change to the endpoint; null if there is none. */
export function stateChangeAfter(
  decision: Decision,
  { endpoint: leased, attempt }: Pick<Lease, "endpoint" | "attempt">,
  { window, nowMs }: { window: CircuitWindow; nowMs: number },
): EndpointStateChange | null {
  const change: EndpointStateChange = { version: leased.version };
  const succeeded = decision.kind === "delivered";
  if (succeeded === leased.isFailing) change.isFailing = !succeeded;
  if (decision.kind === "disable") change.disabledReason = decision.reason;
  if (!succeeded && attempt === ALERT_AFTER_ATTEMPTS) change.needsAlert = true;
  if ("pauseEndpointMs" in decision) change.pauseMs = decision.pauseEndpointMs;

  const shouldOpen = window.record(succeeded, nowMs);
  const isProbe = leased.circuitStep !== null;
  if (isProbe || shouldOpen) {
    window.reset();
    const step = leased.circuitStep === null ? 0 : leased.circuitStep + 1;
    change.circuit = succeeded ? null : { step };
    if (!succeeded) change.pauseMs = Math.max(change.pauseMs ?? 0, probeDelayMs(step));
  }
  return Object.keys(change).length > 1 ? change : null;
}

/** Merges two changes of one endpoint. Changes of different versions are not merged: the later one wins. */
export function mergeStateChanges(
  earlier: EndpointStateChange | undefined,
  later: EndpointStateChange,
): EndpointStateChange {
  if (!earlier || earlier.version !== later.version) return later;
  const pauseMs = Math.max(earlier.pauseMs ?? 0, later.pauseMs ?? 0);
  return { ...earlier, ...later, ...(pauseMs > 0 && { pauseMs }) };
}

export interface StateChangeDeps {
  database: Database;
  alertNotifier?: AlertNotifier | undefined;
}

/** Writes the changes, by endpoint id, and sends due alerts in the same transaction. */
export async function applyStateChanges(
  { database, alertNotifier }: StateChangeDeps,
  changes: ReadonlyMap<string, EndpointStateChange>,
): Promise<void> {
  const someNeedAlert = [...changes.values()].some(
    ({ disabledReason, needsAlert }) => disabledReason ?? needsAlert,
  );
  if (!someNeedAlert || !alertNotifier) await database.query(stateChangeSql(changes));
  else
    await database.transaction(async (tx) => {
      for (const alertRow of await tx.query<EndpointAlertRow>(stateChangeSql(changes)))
        if (alertRow.kind !== null) await alertNotifier(tx, toEndpointAlert(alertRow));
    });
}

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
          when needs_alert and ${isAlertDueSql} then 'retries_failing'
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
    returning webhook_endpoint.id, url, organization_id, alert as kind`;
}
