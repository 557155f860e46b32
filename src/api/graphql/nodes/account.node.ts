/** Users, invitations, account requests, saved views and audit entries in the shape of the GraphQL schema. */
import type { AccountRequest, Invitation, SavedView } from "../../../accounts/api.ts";
import type { AuditEntryView } from "../../../audit/api.ts";
import type { User } from "../../../organizations/api.ts";
import { toTypedId } from "../../../core/ids.ts";

export type UserNode = ReturnType<typeof toUserNode>;
export type InvitationNode = ReturnType<typeof toInvitationNode>;
export type AccountRequestNode = ReturnType<typeof toAccountRequestNode>;

export function toUserNode({ id, name, email, role, createdAt, lastSeenAt, twoFactorEnabled }: User) {
  return {
    id: toTypedId("usr", id),
    name,
    email,
    role,
    createdAt,
    lastSeenAt,
    hasTwoFactor: twoFactorEnabled,
  };
}

export function toInvitationNode({ id, email, role, invitedBy, invitedAt, expiresAt }: Invitation) {
  return { id: toTypedId("inv", id), email, role, invitedBy, invitedAt, expiresAt };
}

export function toAccountRequestNode(request: AccountRequest) {
  const { id, status, email, organizationName, organizationType, organization, message } = request;
  const { createdAt, decidedAt, decidedBy, registrationExpiresAt } = request;
  return {
    id: toTypedId("arq", id),
    status,
    email,
    organizationName,
    organizationType,
    message,
    createdAt,
    decidedAt,
    decidedBy,
    registrationExpiresAt,
    /** A UUID, not a typed ID; null if no organisation was created. */
    organizationId: organization?.id ?? null,
  };
}

export function toSavedViewNode({ id, name, query }: SavedView) {
  return { id: toTypedId("viw", id), name, query };
}

/** `organizationId` stays a UUID. */
export function toAuditEntryNode(entry: AuditEntryView): AuditEntryView {
  return { ...entry, id: toTypedId("aud", entry.id) };
}
