/** Trouble with an endpoint that its owners should know of, told where it is found and in the same transaction. */
import type { Transaction } from "../platform/database.ts";
import { toTypedId } from "../platform/ids.ts";
import { raw } from "../platform/sql.ts";
import type { DisabledReason } from "./endpoint.entity.ts";

/** `troubled`: a delivery keeps failing. Otherwise the endpoint was disabled, for that reason. */
export type TroubleKind = "troubled" | DisabledReason;

export interface Trouble {
  readonly kind: TroubleKind;
  /** Typed. */
  readonly endpointId: string;
  readonly url: string;
  /** A uuid. */
  readonly organizationId: string;
}

/** Part of the transaction that it is called in. */
export type TellOfTrouble = (tx: Transaction, trouble: Trouble) => Promise<void>;

export interface TroubleRow {
  id: string;
  url: string;
  organization_id: string;
  /** Null: there is none that was not told. */
  kind: TroubleKind | null;
}

/**
 * Once for each time that an endpoint fails, however many of its deliveries do; and once a day at most, for one that fails
 * and recovers all the time.
 */
export const isTroubleUntold = raw(`(trouble_told_at is null or (
  trouble_told_at < clock_timestamp() - interval '1 day' and trouble_told_at < coalesce(failing_since, clock_timestamp())))`);

export function toTrouble({ id, url, organization_id, kind }: TroubleRow): Trouble {
  return {
    kind: kind ?? "troubled",
    endpointId: toTypedId("whe", id),
    url,
    organizationId: organization_id,
  };
}
