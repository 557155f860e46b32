/** Delivers an event of test mode to the endpoints of one organisation, as an ordinary delivery. */
import type { JobEvent } from "../../events/api.ts";
import { AppError } from "../../core/errors.ts";
import type { Transaction } from "../../core/postgres/transaction.ts";
import { WebhookEndpoint } from "../endpoints/entity.ts";
import { forPrincipal, getEndpoint } from "../endpoints/find.ts";
import type { WebhookPrincipal } from "../webhook-principal.ts";
import { findDeliveriesById } from "./log-lookups.sql.ts";
import { createDeliveries } from "./record-test-event.sql.ts";
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
  { endpointId, ...event }: SampleEvent,
): Promise<DeliveryView[]> {
  const only = endpointId === undefined ? undefined : await getEndpoint(tx, principal, endpointId);
  const endpoints = await forPrincipal(tx.em(), principal).find(
    WebhookEndpoint,
    {
      ...(only && { id: only.id }),
      status: "active",
      $or: [{ eventTypes: null }, { eventTypes: { $contains: [event.type] } }],
    },
    { fields: ["id"], orderBy: { createdAt: "asc", id: "asc" } },
  );
  if (endpoints.length === 0)
    throw new AppError(
      "ConflictException",
      only
        ? `The endpoint does not receive ${event.type}: it must be active and have the type in event_types`
        : `No active endpoint receives ${event.type}. Create one with POST /v1/webhook-endpoints`,
    );
  const ids = await createDeliveries(
    tx,
    event,
    endpoints.map(({ id }) => id),
  );
  const deliveries = await findDeliveriesById(tx, principal, ids);
  return deliveries.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}
