/** On whose behalf endpoints and deliveries are read and changed: an organisation's, or as an operator every one's. */
import type { Origin } from "../accounts/audit.service.ts";
import { toTypedId } from "../platform/ids.ts";
import { systemActor, type Actor } from "../platform/principal.ts";
import type { Authenticated } from "../platform/fresh-authentication.ts";
import { sql, type Sql } from "../platform/sql.ts";

/** Every `Principal` is one. */
export interface Caller extends Authenticated, Partial<Origin> {
  /** Null: an operator, who sees them all. */
  readonly organizationId: string | null;
}

export const operator: Caller = { organizationId: null, actor: systemActor };

/**
 * The condition that a row of `webhook_endpoint` (under the name `endpoint`) is the caller's. It stands in the `where` of
 * every read and write, so that what is another's is not there.
 */
export function ownedBy({ organizationId }: Caller): Sql {
  return organizationId === null ? sql`true` : sql`endpoint.organization_id = ${organizationId}::uuid`;
}

/** Who it was, as rows keep it. */
export function nameOf({ type, id }: Actor): string {
  if (type === "system" || id === null) return "operator";
  return toTypedId(type === "key" ? "key" : "usr", id);
}
