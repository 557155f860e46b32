/** What deliveries tell of their endpoint: that it fails, recovers, wants quiet or is gone. */
import type { Database } from "../platform/database.ts";
import { sql, type Sql } from "../platform/sql.ts";
import { probeDelayMs, type CircuitWindow } from "./circuit.ts";
import type { Lease } from "./dispatcher.turn.ts";
import type { DisabledReason } from "./endpoint.entity.ts";
import { isTroubleUntold, toTrouble, type TellOfTrouble, type TroubleRow } from "./endpoint.trouble.ts";
import type { Decision } from "./retry-policy.ts";

/** A change of an endpoint's row. An absent part stays as it is. */
export interface EndpointChange {
  /** Of the endpoint that the attempt was for: one that has been moved or resumed since is another. */
  version: number;
  isFailing?: boolean;
  /** Nothing is sent for so long. */
  quietMs?: number;
  /** `step`: the circuit is open, and so many probes have failed; null: it is closed. */
  circuit?: { step: number } | null;
  disable?: DisabledReason;
  /** A delivery has failed so often in a row that its owners should know. */
  isTroubled?: true;
}

/** Four attempts are well over half an hour: no hiccup of the receiver's. */
const TROUBLED_AFTER = 4;

/** What an attempt that ended with `decision` changes of its endpoint; null: nothing. Counts it in the endpoint's `window`. */
export function changeAfter(
  decision: Decision,
  { endpoint: leased, attempt }: Pick<Lease, "endpoint" | "attempt">,
  { window, nowMs }: { window: CircuitWindow; nowMs: number },
): EndpointChange | null {
  const change: EndpointChange = { version: leased.version };
  const succeeded = decision.kind === "delivered";
  if (succeeded === leased.isFailing) change.isFailing = !succeeded;
  if (decision.kind === "disable") change.disable = decision.reason;
  if (!succeeded && attempt === TROUBLED_AFTER) change.isTroubled = true;
  if ("pauseEndpointMs" in decision) change.quietMs = decision.pauseEndpointMs;

  const shouldOpen = window.record(succeeded, nowMs);
  const isProbe = leased.circuitStep !== null;
  if (isProbe || shouldOpen) {
    window.reset();
    const step = leased.circuitStep === null ? 0 : leased.circuitStep + 1;
    change.circuit = succeeded ? null : { step };
    if (!succeeded) change.quietMs = Math.max(change.quietMs ?? 0, probeDelayMs(step));
  }
  return Object.keys(change).length > 1 ? change : null;
}

/** Two changes of one endpoint, `later` after `earlier`. */
export function mergeChanges(earlier: EndpointChange | undefined, later: EndpointChange): EndpointChange {
  if (!earlier || earlier.version !== later.version) return later;
  const quietMs = Math.max(earlier.quietMs ?? 0, later.quietMs ?? 0);
  return { ...earlier, ...later, ...(quietMs > 0 && { quietMs }) };
}

/** What tells whoever should know of trouble, in the transaction that finds it. */
export interface ChangeParts {
  database: Database;
  tellOfTrouble?: TellOfTrouble | undefined;
}

/** Writes `changes`, by endpoint. A circuit that others found broken too is opened once. */
export async function applyChanges(
  { database, tellOfTrouble }: ChangeParts,
  changes: ReadonlyMap<string, EndpointChange>,
): Promise<void> {
  const isTrouble = [...changes.values()].some(({ disable, isTroubled }) => disable ?? isTroubled);
  if (!isTrouble || !tellOfTrouble) await database.query(changeStatement(changes));
  else
    await database.transaction(async (tx) => {
      for (const trouble of await tx.query<TroubleRow>(changeStatement(changes)))
        if (trouble.kind !== null) await tellOfTrouble(tx, toTrouble(trouble));
    });
}

function changeStatement(changes: ReadonlyMap<string, EndpointChange>): Sql {
  const input = Array.from(changes, ([id, change]) => ({
    id,
    version: change.version,
    is_failing: change.isFailing,
    quiet_ms: change.quietMs,
    circuit: change.circuit === undefined ? "as it is" : change.circuit === null ? "closed" : "open",
    step: change.circuit?.step,
    disable: change.disable,
    is_troubled: change.isTroubled ?? false,
  }));
  // Rows are locked in one order everywhere, so that two workers wait for each other and never deadlock.
  return sql`
    with change as materialized (
      select change.*, case
          when disable is not null then case when status <> 'disabled' then disable end
          when is_troubled and ${isTroubleUntold} then 'troubled'
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
      trouble_told_at = case when trouble = 'troubled' then clock_timestamp() else trouble_told_at end
    from change where webhook_endpoint.id = change.id
    returning webhook_endpoint.id, url, organization_id, trouble as kind`;
}
