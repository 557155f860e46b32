/** Members and invitations of the principal's organisation, or of the operator team. */
import type { InvitedRole } from "../../accounts/api.ts";
import { toTypedId } from "../../platform/ids.ts";
import { requireScope } from "../../api-keys/api.ts";
import { auditContext, requirePrincipal, canViewMembers, requireOwner } from "../authorize.ts";
import type { GraphqlContext } from "../context.ts";
import type { MutationResolvers, QueryResolvers } from "../generated/schema-types.ts";
import { toApiKeyNode } from "../nodes/api-key.node.ts";
import { toInvitationNode } from "../nodes/invitation.node.ts";
import { toUserNode } from "../nodes/user.node.ts";
import { withUserErrors } from "../user-errors.ts";

const BY_ID = { fields: "", subject: "id" };

export const memberQueries: Pick<QueryResolvers, "members" | "invitations"> = {
  async members(_root, _args, context) {
    const principal = requirePrincipal(context);
    if (!canViewMembers(principal)) requireScope(principal, "webhooks:manage");
    const { organizationId } = principal;
    const members = await context.services.members.list({ organizationId }, context.database);
    return members.map(toUserNode);
  },
  async invitations(_root, _args, context) {
    const { organizationId } = requireOwner(context);
    const invitations = await context.services.invitations.list({ organizationId }, context.database);
    return invitations.map(toInvitationNode);
  },
};

type MemberMutations = Pick<
  MutationResolvers,
  "inviteMember" | "resendInvitation" | "revokeInvitation" | "removeMember" | "setMemberRole"
>;

export const memberMutations: MemberMutations = {
  inviteMember(_root, { input: { email, role } }, context) {
    const { admin, invitations } = memberAdminContext(context);
    return withUserErrors({ fields: "input", subject: "input.email" }, { invitation: null }, async () => ({
      invitation: toInvitationNode(
        await invitations.invite(admin, { email, role: (role ?? "MEMBER").toLowerCase() as InvitedRole }),
      ),
    }));
  },

  resendInvitation(_root, { id }, context) {
    const { admin, invitations } = memberAdminContext(context);
    return withUserErrors(BY_ID, { invitation: null }, async () => ({
      invitation: toInvitationNode(await invitations.resend(admin, id)),
    }));
  },

  revokeInvitation(_root, { id }, context) {
    const { admin, invitations } = memberAdminContext(context);
    return withUserErrors(BY_ID, { id: null }, async () => {
      await invitations.revoke(admin, id);
      return { id };
    });
  },

  removeMember(_root, { id, revokeKeys, revokeInvitations }, context) {
    const { admin, members } = memberAdminContext(context);
    const nullPayload = { id: null, revokedKeys: null, revokedInvitations: null };
    return withUserErrors(BY_ID, nullPayload, async () => {
      const { keys, invitationIds } = await members.remove(admin, id, { revokeKeys, revokeInvitations });
      return {
        id,
        revokedKeys: keys.map(toApiKeyNode),
        revokedInvitations: invitationIds.map((uuid) => toTypedId("inv", uuid)),
      };
    });
  },

  setMemberRole(_root, { id, role }, context) {
    const { admin, members } = memberAdminContext(context);
    return withUserErrors(BY_ID, { member: null }, async () => ({
      member: toUserNode(await members.setRole(admin, id, role.toLowerCase() as Lowercase<typeof role>)),
    }));
  },
};

function memberAdminContext(context: GraphqlContext) {
  const { members, invitations } = context.services;
  return { admin: auditContext(context, requireOwner(context)), members, invitations };
}
