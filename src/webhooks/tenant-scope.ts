/** Limits access to endpoints and deliveries: partners to their own organisation, operators to none. */
import type { AuditSource } from "../audit/api.ts";
import { toTypedId } from "../platform/ids.ts";
import { systemActor, type Actor } from "../platform/principal.ts";
import type { AuthenticatedActor } from "../platform/fresh-authentication.ts";
import { sql, type Sql } from "../platform/postgres/sql.ts";

/** Every `Principal` satisfies this interface. */
export interface WebhookPrincipal extends AuthenticatedActor, Partial<AuditSource> {
  /** Null for an operator, who can access every organisation. */
  readonly organizationId: string | null;
}

export const systemPrincipal: WebhookPrincipal = { organizationId: null, actor: systemActor };

/** SQL condition: the principal can access `endpoint`, a row of `webhook_endpoint`. Every read and write must include it. */
export function tenantFilter({ organizationId }: WebhookPrincipal): Sql {
  return organizationId === null ? sql`true` : sql`endpoint.organization_id = ${organizationId}::uuid`;
}

/** The text stored in `created_by`: "operator" or the typed id of a key or user. */
export function actorLabel({ type, id }: Actor): string {
  if (type === "system" || id === null) return "operator";
  return toTypedId(type === "key" ? "key" : "usr", id);
}
