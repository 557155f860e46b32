/** Lists audit entries: of their organisation for owners, of all organisations for operators. */
import { auditCursor, listAuditEntries } from "../../../audit/api.ts";
import { requireAdministrator, requireOwner, requirePrincipal } from "../authorize.ts";
import type { GraphqlContext } from "../context.ts";
import { invalidArgument, organizationUuid } from "../arguments.ts";
import type { AuditEntryResolvers, QueryResolvers } from "../generated/schema-types.ts";
import type { AuthenticatedPrincipal } from "../authenticated-principal.ts";
import { toAuditEntryNode } from "../nodes/account.node.ts";
import { listConnection } from "../pagination.ts";

const ACTION_PATTERN = /^[a-z_]{1,40}\.[a-z_]{1,40}$/;

export const auditQueries: QueryResolvers = {
  async auditLog(_root, { actions, organizationId, ...args }, context) {
    const reader = requireAuditReader(context);
    for (const [index, action] of (actions ?? []).entries())
      if (!ACTION_PATTERN.test(action))
        throw invalidArgument(`actions.${index}`, "must be an action such as `member.removed`");
    const filter = {
      actions: actions ?? undefined,
      organizationId: readableOrganization(organizationId ?? null, reader),
    };
    return await listConnection(args, {
      cursor: auditCursor,
      list: (page) => listAuditEntries(context.database, reader, { ...filter, ...page }),
      toNode: toAuditEntryNode,
    });
  },
};

export const auditEntry: AuditEntryResolvers = {
  organization: ({ organizationId }, _args, { loaders }) =>
    organizationId === null ? null : loaders.load("organizations", organizationId),
};

/** Operators may use an API key. Organisations must be signed in as an owner. */
function requireAuditReader(context: GraphqlContext): AuthenticatedPrincipal {
  const { organizationId } = requirePrincipal(context);
  return organizationId === null ? requireAdministrator(context) : requireOwner(context);
}

function readableOrganization(id: string | null, reader: AuthenticatedPrincipal): string | undefined {
  if (id === null) return undefined;
  if (reader.organizationId !== null)
    throw invalidArgument("organizationId", "can only be used by operators of the service");
  return organizationUuid("organizationId", id);
}
