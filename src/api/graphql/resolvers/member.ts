/** Members and invitations of the principal's organisation, or of the operator team. */
import { requireScope } from "../../../api-keys/api.ts";
import { requireOwner, requirePrincipal } from "../authorize.ts";
import type { QueryResolvers } from "../generated/schema-types.ts";
import { toInvitationNode, toUserNode } from "../nodes/account.node.ts";
import { canViewMembers, memberGroupOf } from "../authenticated-principal.ts";

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
