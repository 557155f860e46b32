/** On whose behalf endpoints and deliveries are read and changed: an organisation's, or as an operator every one's. */
import type { AuditSource } from "../audit/api.ts";
import { toTypedId } from "../platform/ids.ts";
import { systemActor, type Actor } from "../platform/principal.ts";
import type { AuthenticatedActor } from "../platform/fresh-authentication.ts";
import { sql, type Sql } from "../platform/postgres/sql.ts";

/** Every `Principal` is one. */
export interface WebhookPrincipal extends AuthenticatedActor, Partial<AuditSource> {
  /** Null: an operator, who sees them all. */
  readonly organizationId: string | null;
}

export const systemPrincipal: WebhookPrincipal = { organizationId: null, actor: systemActor };

/**
 * The condition that a row of `webhook_endpoint` (under the name `endpoint`) is the caller's. It stands in the `where` of
 * every read and write, so that what is another's is not there.
 */
export function tenantFilter({ organizationId }: WebhookPrincipal): Sql {
  return organizationId === null ? sql`true` : sql`endpoint.organization_id = ${organizationId}::uuid`;
}

/** Who it was, as rows keep it. */
export function actorLabel({ type, id }: Actor): string {
  if (type === "system" || id === null) return "operator";
  return toTypedId(type === "key" ? "key" : "usr", id);
}
