/** Jobs in the shape of the GraphQL schema, converted once per row. */
import type { HistoryPage, HistoryRequest } from "../../../events/api.ts";
import { toTypedId } from "../../../core/ids.ts";
import { toIsoTime } from "../../../core/time.ts";
import type { JobWithOrganizations } from "../../../jobs/api.ts";
import { toOrganizationNode } from "./organization.node.ts";

export type JobNode = ReturnType<typeof toJobNode>;

/** The page of history that was loaded with a job. */
interface PrefetchedHistory {
  readonly request: HistoryRequest;
  readonly page: HistoryPage;
}

export function toJobNode(row: JobWithOrganizations) {
  return {
    id: toTypedId("job", row.id),
    markingNumber: row.marking_number,
    batchNumber: row.batch_number,
    groupCode: row.group_code,
    pieceQuantity: row.piece_quantity,
    labels: row.labels,
    pts: row.pts,
    weight: row.weight,
    recipientName: row.recipient_name,
    recipientContact: row.recipient_contact,
    deliveryAddress: row.delivery_address,
    postalCode: row.postal_code,
    scheduledDate: row.scheduled_date,
    instructions: row.instructions,
    normalizedStatus: row.normalized_status,
    failureReason: row.failure_reason,
    scheduledDeliveryDate: row.scheduled_delivery_date,
    scheduledDeliveryPending: row.scheduled_delivery_pending,
    providerStatus: row.provider_status,
    version: row.version,
    createdAt: toIsoTime(row.created_at),
    updatedAt: toIsoTime(row.updated_at),
    /** The database row, used to load related objects. */
    row,
    /** Undefined if not loaded with the job. */
    agent: row.agent && toOrganizationNode(row.agent),
    contractor: row.contractor && toOrganizationNode(row.contractor),
    prefetchedHistory: null as PrefetchedHistory | null,
  };
}
