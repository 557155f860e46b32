/** Members and invitations of the principal's organisation, or of the operator team. */
import { toTypedId } from "../../../core/ids.ts";
import { requireScope, toApiKeyView } from "../../../api-keys/api.ts";
import { requireOwner, requirePrincipal } from "../authorize.ts";
import type { MutationResolvers, QueryResolvers } from "../generated/schema-types.ts";
import { toInvitationNode, toUserNode } from "../nodes/account.node.ts";
import { canViewMembers, memberGroupOf } from "../authenticated-principal.ts";
import { BY_ID, mutation } from "../mutation.ts";

export const memberQueries: QueryResolvers = {
  async members(_root, _args, context) {
    const principal = requirePrincipal(context);
    if (!canViewMembers(principal)) requireScope(principal, "webhooks:manage");
    const members = await context.services.members.list(memberGroupOf(principal), context.database);
    return members.map(toUserNode);
  },
  async invitations(_root, _args, context) {
    const { organizationId } = requireOwner(context);
    const invitations = await context.services.invitations.list({ organizationId }, context.database);
    return invitations.map(toInvitationNode);
  },
};

export const memberMutations: MutationResolvers = {
  inviteMember: mutation(
    requireOwner,
    { fields: "input", subject: "input.email" },
    async (caller, { input: { email, role } }, { services }) => ({
      invitation: toInvitationNode(
        await services.invitations.invite(caller, { email, role: role ?? "member" }),
      ),
    }),
  ),

  resendInvitation: mutation(requireOwner, BY_ID, async (caller, { id }, { services }) => ({
    invitation: toInvitationNode(await services.invitations.resend(caller, id)),
  })),

  revokeInvitation: mutation(requireOwner, BY_ID, async (caller, { id }, { services }) => {
    await services.invitations.revoke(caller, id);
    return { id };
  }),

  removeMember: mutation(requireOwner, BY_ID, async (caller, { id, ...options }, { services }) => {
    const { keys, invitationIds } = await services.members.remove(caller, id, options);
    return {
      id,
      revokedKeys: keys.map(toApiKeyView),
      revokedInvitations: invitationIds.map((uuid) => toTypedId("inv", uuid)),
    };
  }),

  setMemberRole: mutation(requireOwner, BY_ID, async (caller, { id, role }, { services }) => ({
    member: toUserNode(await services.members.setRole(caller, id, role)),
  })),
};
