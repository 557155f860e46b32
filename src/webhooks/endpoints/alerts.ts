/** Trouble with an endpoint that its owners should know of, told where it is found and in the same transaction. */
import type { Transaction } from "../../platform/postgres/database.ts";
import { toTypedId } from "../../platform/ids.ts";
import { raw } from "../../platform/postgres/sql.ts";
import type { DisabledReason } from "./entity.ts";

/** `troubled`: a delivery keeps failing. Otherwise the endpoint was disabled, for that reason. */
export type EndpointAlertKind = "troubled" | DisabledReason;

export interface EndpointAlert {
  readonly kind: EndpointAlertKind;
  /** Typed. */
  readonly endpointId: string;
  readonly url: string;
  /** A uuid. */
  readonly organizationId: string;
}

/** Part of the transaction that it is called in. */
export type AlertNotifier = (tx: Transaction, trouble: EndpointAlert) => Promise<void>;

export interface EndpointAlertRow {
  id: string;
  url: string;
  organization_id: string;
  /** Null: there is none that was not told. */
  kind: EndpointAlertKind | null;
}

/**
 * Once for each time that an endpoint fails, however many of its deliveries do; and once a day at most, for one that fails
 * and recovers all the time.
 */
export const isAlertDueSql = raw(`(last_alert_at is null or (
  last_alert_at < clock_timestamp() - interval '1 day' and last_alert_at < coalesce(failing_since, clock_timestamp())))`);

export function toEndpointAlert({ id, url, organization_id, kind }: EndpointAlertRow): EndpointAlert {
  return {
    kind: kind ?? "troubled",
    endpointId: toTypedId("whe", id),
    url,
    organizationId: organization_id,
  };
}
