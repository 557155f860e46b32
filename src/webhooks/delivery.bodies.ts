/** What deliveries send, made anew for the log: many at once. */
import type { EventRow } from "../events/event.wire.ts";
import type { Queryable } from "../platform/database.ts";
import type { OrganizationType } from "../platform/principal.ts";
import { sql } from "../platform/sql.ts";
import { ownedBy, type Caller } from "./caller.ts";
import { deliveryBody } from "./payload.ts";
import { TEST_EVENT_TYPE, testEventOf } from "./test-event.ts";

interface Sent {
  delivery_id: string;
  event_id: string;
  endpoint_id: string;
  event_type: string;
  organization_id: string;
  organization_type: OrganizationType;
}

/** Of a test event, and where the event is gone, the event's own columns are null. */
type SentRow = Sent & (EventRow | { [Name in keyof EventRow]: null });

/** To the byte, by the uuids of those deliveries that the caller may see; none where the event is gone. */
export async function requestBodiesOf(
  database: Queryable,
  caller: Caller,
  deliveryIds: readonly string[],
): Promise<Map<string, string>> {
  const rows = await database.query<SentRow>(sql`
    select delivery.id as delivery_id, delivery.event_id, delivery.endpoint_id, delivery.event_type,
      endpoint.organization_id, organization.type as organization_type,
      event.id, event.type, event.sequence, event.actor_type, event.actor_id, event.request_id, event.occurred_at,
      event.changes, event.job
    from webhook_delivery delivery
      join webhook_endpoint endpoint on endpoint.id = delivery.endpoint_id
      join organization on organization.id = endpoint.organization_id
      left join job_event event on event.id = delivery.event_id
    where delivery.id = any(${deliveryIds}::uuid[]) and ${ownedBy(caller)}`);
  const bodies = new Map<string, string>();
  for (const row of rows) {
    const body = bodyOf(row);
    if (body !== null) bodies.set(row.delivery_id, body);
  }
  return bodies;
}

function bodyOf(row: SentRow): string | null {
  if (row.event_type === TEST_EVENT_TYPE) return JSON.stringify(testEventOf(row.event_id, row.endpoint_id));
  if (row.id === null) return null;
  return deliveryBody(row, { organizationId: row.organization_id, organizationType: row.organization_type });
}
