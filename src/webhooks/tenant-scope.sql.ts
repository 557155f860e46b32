/** Limits statements on endpoints and deliveries: partners to their own organisation, operators to none. */
import { sql, type Sql } from "../core/postgres/sql.ts";
import type { WebhookPrincipal } from "./webhook-principal.ts";

/**
 * SQL condition: the principal can access `endpoint`, a row of `webhook_endpoint`. Every statement on deliveries must include
 * it; entity managers use the filter `endpointVisibility` of `WebhookEndpoint`.
 */
export function tenantFilter({ organizationId }: WebhookPrincipal): Sql {
  return organizationId === null ? sql`true` : sql`endpoint.organization_id = ${organizationId}::uuid`;
}
