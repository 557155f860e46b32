/** Alerts about failing endpoints, sent in the transaction that detects the failure. */
import type { Transaction } from "../../platform/postgres/database.ts";
import { toTypedId } from "../../platform/ids.ts";
import { raw } from "../../platform/postgres/sql.ts";
import type { DisabledReason } from "./entity.ts";

/** `retries_failing`: four attempts of a delivery failed. Otherwise the endpoint was disabled for this reason. */
export type EndpointAlertKind = "retries_failing" | DisabledReason;

export interface EndpointAlert {
  readonly kind: EndpointAlertKind;
  /** Typed id. */
  readonly endpointId: string;
  readonly url: string;
  /** UUID. */
  readonly organizationId: string;
}

/** Enqueues the alert in the transaction `tx`. */
export type AlertNotifier = (tx: Transaction, alert: EndpointAlert) => Promise<void>;

export interface EndpointAlertRow {
  id: string;
  url: string;
  organization_id: string;
  /** Null if no alert is due. */
  kind: EndpointAlertKind | null;
}

/** SQL condition: an alert is due. Limits alerts to one per period of failure and one per day. */
export const isAlertDueSql = raw(`(last_alert_at is null or (
  last_alert_at < clock_timestamp() - interval '1 day' and last_alert_at < coalesce(failing_since, clock_timestamp())))`);

export function toEndpointAlert({ id, url, organization_id, kind }: EndpointAlertRow): EndpointAlert {
  return {
    kind: kind ?? "retries_failing",
    endpointId: toTypedId("whe", id),
    url,
    organizationId: organization_id,
  };
}
