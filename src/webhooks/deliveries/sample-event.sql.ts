/** Delivers an event of test mode to the endpoints of one organisation, as an ordinary delivery. */
import type { JobEvent } from "../../events/api.ts";
import { AppError } from "../../core/errors.ts";
import { uuidV7Sql } from "../../core/ids.ts";
import { sql } from "../../core/postgres/sql.ts";
import type { Transaction } from "../../core/postgres/transaction.ts";
import { getEndpoint } from "../endpoints/find.ts";
import type { WebhookPrincipal } from "../webhook-principal.ts";
import { findDeliveriesById, tenantFilter } from "./log-lookups.sql.ts";
import type { DeliveryView } from "./view.ts";

export interface SampleEvent extends Pick<JobEvent, "id" | "type"> {
  /** Uuid of the job that the log shows; null for none. */
  jobId: string | null;
  /** Typed id of the only endpoint that receives the event. */
  endpointId?: string | undefined;
}

/**
 * Creates a delivery to each active endpoint of the principal's organisation that receives the type. Throws NotFoundException
 * for an endpoint that does not exist, and ConflictException if no endpoint receives the event.
 */
export async function deliverSampleEvent(
  tx: Transaction,
  principal: WebhookPrincipal,
  { id, type, jobId, endpointId }: SampleEvent,
): Promise<DeliveryView[]> {
  const only = endpointId === undefined ? null : (await getEndpoint(tx, principal, endpointId)).id;
  const created = await tx.query<{ id: string }>(sql`
    insert into webhook_delivery (id, endpoint_id, event_id, event_type, job_id)
    select ${uuidV7Sql}, endpoint.id, ${id}::uuid, ${type}, ${jobId}::uuid from webhook_endpoint endpoint
    where ${tenantFilter(principal)} and endpoint.id = coalesce(${only}::uuid, endpoint.id)
      and endpoint.status = 'active' and endpoint.deleted_at is null
      and (endpoint.event_types is null or ${type} = any(endpoint.event_types))
    order by endpoint.created_at, endpoint.id
    returning id`);
  if (created.length === 0)
    throw new AppError(
      "ConflictException",
      only === null
        ? `No active endpoint receives ${type}. Create one with POST /v1/webhook-endpoints`
        : `The endpoint does not receive ${type}: it must be active and have the type in event_types`,
    );
  const ids = created.map((row) => row.id);
  const deliveries = await findDeliveriesById(tx, principal, ids);
  return deliveries.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}
