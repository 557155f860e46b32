/** Rebuilds the request bodies of many deliveries for the log. */
import type { EventRow } from "../../events/api.ts";
import type { Queryable } from "../../platform/postgres/database.ts";
import type { OrganizationType } from "../../platform/principal.ts";
import { sql } from "../../platform/postgres/sql.ts";
import { tenantFilter, type WebhookPrincipal } from "../tenant-scope.ts";
import { deliveryBody } from "./payload.ts";
import { TEST_EVENT_TYPE, buildTestEvent } from "./test-event.ts";

interface DeliveryContextRow {
  delivery_id: string;
  event_id: string;
  endpoint_id: string;
  event_type: string;
  organization_id: string;
  organization_type: OrganizationType;
}

/** The event's columns are null for a test event and if the event no longer exists. */
type RequestBodyRow = DeliveryContextRow & (EventRow | { [Name in keyof EventRow]: null });

/** The exact bodies by delivery id (UUID). Invisible deliveries and those without an event are missing. */
export async function requestBodiesOf(
  database: Queryable,
  principal: WebhookPrincipal,
  deliveryIds: readonly string[],
): Promise<Map<string, string>> {
  const rows = await database.query<RequestBodyRow>(sql`
    select delivery.id as delivery_id, delivery.event_id, delivery.endpoint_id, delivery.event_type,
      endpoint.organization_id, organization.type as organization_type,
      event.id, event.type, event.sequence, event.actor_type, event.actor_id, event.request_id, event.occurred_at,
      event.changes, event.job
    from webhook_delivery delivery
      join webhook_endpoint endpoint on endpoint.id = delivery.endpoint_id
      join organization on organization.id = endpoint.organization_id
      left join job_event event on event.id = delivery.event_id
    where delivery.id = any(${deliveryIds}::uuid[]) and ${tenantFilter(principal)}`);
  const bodies = new Map<string, string>();
  for (const row of rows) {
    const body = toRequestBody(row);
    if (body !== null) bodies.set(row.delivery_id, body);
  }
  return bodies;
}

function toRequestBody(row: RequestBodyRow): string | null {
  if (row.event_type === TEST_EVENT_TYPE)
    return JSON.stringify(buildTestEvent(row.event_id, row.endpoint_id));
  if (row.id === null) return null;
  return deliveryBody(row, { organizationId: row.organization_id, organizationType: row.organization_type });
}
