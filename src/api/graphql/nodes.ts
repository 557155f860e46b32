/** Objects in the shape of the GraphQL schema. Jobs are converted once per row. */
import { invalidArgument } from "../../core/errors.ts";
import { fromTypedId, type IdPrefix, toTypedId } from "../../core/ids.ts";
import type { OrganizationType } from "../../core/principal.ts";
import type { AccountRequest, Invitation, SavedView } from "../../accounts/api.ts";
import type { AuditEntryView } from "../../audit/api.ts";
import type { User } from "../../organizations/api.ts";
import {
  type EventAudience,
  type EventWithPosition,
  type HistoryPage,
  type HistoryRequest,
  toActorWire,
  toChangeWire,
} from "../../events/api.ts";
import { jobFieldNames, type JobRow } from "../../jobs/api.ts";
import { toIsoTime } from "../../core/time.ts";
import { camelCase } from "../../core/names.ts";

export interface OrganizationNode {
  readonly id: string;
  readonly name: string;
  readonly type: OrganizationType;
}

export function toOrganizationNode({ id, name, type }: OrganizationNode): OrganizationNode {
  return { id: toTypedId("org", id), name, type };
}

export type UserNode = ReturnType<typeof toUserNode>;
export type InvitationNode = ReturnType<typeof toInvitationNode>;
export type AccountRequestNode = ReturnType<typeof toAccountRequestNode>;

export function toUserNode(user: User) {
  return { ...user, id: toTypedId("usr", user.id), hasTwoFactor: user.twoFactorEnabled };
}

export function toInvitationNode({ id, email, role, invitedBy, invitedAt, expiresAt }: Invitation) {
  return { id: toTypedId("inv", id), email, role, invitedBy, invitedAt, expiresAt };
}

export function toAccountRequestNode(request: AccountRequest) {
  /** A UUID, not a typed ID; null if no organisation was created. */
  const organizationId = request.organization?.id ?? null;
  return { ...request, id: toTypedId("arq", request.id), organizationId };
}

export type SavedViewNode = ReturnType<typeof toSavedViewNode>;

export function toSavedViewNode({ id, name, query, isShared, user }: SavedView) {
  return { id: toTypedId("viw", id), name, query, isShared, ownerId: user.id };
}

/** `organizationId` stays a UUID. */
export function toAuditEntryNode(entry: AuditEntryView): AuditEntryView {
  return { ...entry, id: toTypedId("aud", entry.id) };
}

export type JobEventNode = ReturnType<typeof toJobEventNode>;

const fieldNames: ReadonlyMap<string, string> = new Map(jobFieldNames.map((name) => [name, camelCase(name)]));

/** Returns the event with the changes that `principal` may see. */
export function toJobEventNode(row: EventWithPosition, principal: EventAudience) {
  return {
    id: toTypedId("evt", row.id),
    type: row.type,
    jobId: toTypedId("job", row.job_id),
    markingNumber: row.marking_number,
    sequence: row.sequence,
    occurredAt: toIsoTime(row.occurred_at),
    actor: toActorWire(row),
    requestId: row.request_id,
    changes: Object.entries(row.changes).map(([name, change]) => {
      const { from, to } = toChangeWire(name, change, principal);
      return { field: fieldNames.get(name) ?? camelCase(name), from, to };
    }),
    /** The database row, used to load the job and to compute the cursor. */
    row,
  };
}

export type JobNode = ReturnType<typeof toJobNode>;

/** The page of history that was loaded with a job. */
interface PrefetchedHistory {
  readonly request: HistoryRequest;
  readonly page: HistoryPage;
}

export function toJobNode(row: JobRow) {
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
    prefetchedHistory: null as PrefetchedHistory | null,
  };
}

/** Returns the UUID of a node. The ID of a node is always valid. */
export function uuidOf(prefix: IdPrefix, id: string): string {
  return fromTypedId(prefix, id) as string;
}

/** Returns the UUID of an organisation ID. Throws BadRequestException for another ID. `path` is the argument's path. */
export function organizationUuid(path: string, id: string): string {
  const uuid = fromTypedId("org", id);
  if (uuid === null) throw invalidArgument(path, `must be an organisation ID, got ${JSON.stringify(id)}`);
  return uuid;
}
