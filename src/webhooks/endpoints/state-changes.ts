/** What deliveries tell of their endpoint: that it fails, recovers, wants quiet or is gone. */
import type { Database } from "../../platform/postgres/database.ts";
import { sql, type Sql } from "../../platform/postgres/sql.ts";
import { probeDelayMs, type CircuitWindow } from "./circuit.ts";
import type { Lease } from "../dispatcher/claim.ts";
import type { DisabledReason } from "./entity.ts";
import { isAlertDueSql, toEndpointAlert, type AlertNotifier, type EndpointAlertRow } from "./alerts.ts";
import type { Decision } from "../dispatcher/retry-policy.ts";

/** A change of an endpoint's row. An absent part stays as it is. */
export interface EndpointStateChange {
  /** Of the endpoint that the attempt was for: one that has been moved or resumed since is another. */
  version: number;
  isFailing?: boolean;
  /** Nothing is sent for so long. */
  pauseMs?: number;
  /** `step`: the circuit is open, and so many probes have failed; null: it is closed. */
  circuit?: { step: number } | null;
  disabledReason?: DisabledReason;
  /** A delivery has failed so often in a row that its owners should know. */
  needsAlert?: true;
}

/** Four attempts are well over half an hour: no hiccup of the receiver's. */
const ALERT_AFTER_ATTEMPTS = 4;

/** What an attempt that ended with `decision` changes of its endpoint; null: nothing. Counts it in the endpoint's `window`. */
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

/** Two changes of one endpoint, `later` after `earlier`. */
export function mergeStateChanges(
  earlier: EndpointStateChange | undefined,
  later: EndpointStateChange,
): EndpointStateChange {
  if (!earlier || earlier.version !== later.version) return later;
  const pauseMs = Math.max(earlier.pauseMs ?? 0, later.pauseMs ?? 0);
  return { ...earlier, ...later, ...(pauseMs > 0 && { pauseMs }) };
}

/** What tells whoever should know of trouble, in the transaction that finds it. */
export interface StateChangeDeps {
  database: Database;
  alertNotifier?: AlertNotifier | undefined;
}

/** Writes `changes`, by endpoint. A circuit that others found broken too is opened once. */
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
    quiet_ms: change.pauseMs,
    circuit: change.circuit === undefined ? "as it is" : change.circuit === null ? "closed" : "open",
    step: change.circuit?.step,
    disable: change.disabledReason,
    is_troubled: change.needsAlert ?? false,
  }));
  // Rows are locked in one order everywhere, so that two workers wait for each other and never deadlock.
  return sql`
    with change as materialized (
      select change.*, case
          when disable is not null then case when status <> 'disabled' then disable end
          when is_troubled and ${isAlertDueSql} then 'troubled'
        end as trouble
      from jsonb_to_recordset(${JSON.stringify(input)}::jsonb)
        as change (id uuid, version int, is_failing boolean, quiet_ms float8, circuit text, step int, disable text,
          is_troubled boolean)
        join webhook_endpoint using (id, version) order by id for update of webhook_endpoint
    )
    update webhook_endpoint set
      failing_since = case when is_failing then coalesce(failing_since, clock_timestamp())
        when not is_failing then null else failing_since end,
      circuit_step = case circuit when 'closed' then null when 'open' then greatest(circuit_step, step) else circuit_step end,
      blocked_until = case when quiet_ms is not null
          then greatest(blocked_until, clock_timestamp() + quiet_ms * interval '1 ms')
        when circuit = 'closed' then null else blocked_until end,
      status = case when disable is null then status else 'disabled' end,
      disabled_reason = coalesce(disable, disabled_reason),
      status_since = case when disable is null then status_since else clock_timestamp() end,
      last_alert_at = case when trouble = 'troubled' then clock_timestamp() else last_alert_at end
    from change where webhook_endpoint.id = change.id
    returning webhook_endpoint.id, url, organization_id, trouble as kind`;
}
