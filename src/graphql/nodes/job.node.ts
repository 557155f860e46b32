/** Jobs in the shape of the GraphQL schema, converted once per row. */
import type { HistoryRequest, HistoryRows } from "../../events/api.ts";
import { toTypedId } from "../../platform/ids.ts";
import { toIsoTime } from "../../platform/time.ts";
import type { JobRow, JobWithOrganizations } from "../../jobs/api.ts";
import type { ConnectionNode } from "../pagination.ts";
import { toOrganizationNode, type OrganizationNode } from "./organization.node.ts";

export interface JobNode {
  readonly id: string;
  readonly markingNumber: string;
  readonly batchNumber: JobRow["batch_number"];
  readonly groupCode: JobRow["group_code"];
  readonly pieceQuantity: JobRow["piece_quantity"];
  readonly labels: JobRow["labels"];
  readonly pts: JobRow["pts"];
  readonly weight: JobRow["weight"];
  readonly recipientName: JobRow["recipient_name"];
  readonly recipientContact: JobRow["recipient_contact"];
  readonly deliveryAddress: JobRow["delivery_address"];
  readonly postalCode: JobRow["postal_code"];
  readonly scheduledDate: JobRow["scheduled_date"];
  readonly instructions: JobRow["instructions"];
  readonly normalizedStatus: string;
  readonly failureReason: JobRow["failure_reason"];
  readonly scheduledDeliveryDate: JobRow["scheduled_delivery_date"];
  readonly scheduledDeliveryPending: boolean;
  readonly providerStatus: JobRow["provider_status"];
  readonly version: number;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** The database row, used to load related objects. */
  readonly row: JobWithOrganizations;
  /** Undefined if not loaded with the job. */
  readonly agent: OrganizationNode | undefined;
  readonly contractor: OrganizationNode | null | undefined;
  /** The page of history that was loaded with the job. */
  prefetchedHistory: PrefetchedHistory | null;
}

export interface PrefetchedHistory {
  readonly request: HistoryRequest;
  readonly rows: HistoryRows;
}

export type JobConnectionNode = ConnectionNode<JobNode> & { readonly totalCount: number };

export function toJobNode(row: JobWithOrganizations): JobNode {
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
    row,
    agent: row.agent && toOrganizationNode(row.agent),
    contractor: row.contractor && toOrganizationNode(row.contractor),
    prefetchedHistory: null,
  };
}
