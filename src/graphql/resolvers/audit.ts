/** Lists audit entries: of their organisation for owners, of all organisations for operators. */
import { auditCursor, listAuditEntries, readAuditCursor } from "../../audit/api.ts";
import { fromTypedId } from "../../platform/ids.ts";
import { requirePrincipal, requireOperator, requireOwner } from "../authorize.ts";
import type { GraphqlContext } from "../context.ts";
import { invalidArgument } from "../invalid-argument.ts";
import type { AuditEntryResolvers, QueryResolvers } from "../generated/schema-types.ts";
import type { AuthenticatedPrincipal } from "../principal.ts";
import { toAuditEntryNode } from "../nodes/audit-entry.node.ts";
import { pageRequest, readCursor, toConnection } from "../pagination.ts";

const ACTION_PATTERN = /^[a-z_]{1,40}\.[a-z_]{1,40}$/;

export const auditQueries: Pick<QueryResolvers, "auditLog"> = {
  async auditLog(_root, { actions, organizationId, ...args }, context) {
    const reader = requireAuditReader(context);
    for (const [index, action] of (actions ?? []).entries())
      if (!ACTION_PATTERN.test(action))
        throw invalidArgument(`actions.${index}`, "must be an action such as `member.removed`");
    const page = pageRequest(args);
    const after = readCursor(page, readAuditCursor);
    const { items, hasMore } = await listAuditEntries(context.database, reader, {
      actions: actions ?? undefined,
      organizationId: organizationUuid(organizationId ?? null, reader),
      limit: page.limit,
      after,
    });
    return toConnection({
      items,
      hasNext: hasMore,
      hasPrevious: after !== null,
      toNode: toAuditEntryNode,
      cursorOf: auditCursor,
    });
  },
};

export const auditEntry: AuditEntryResolvers = {
  organization: ({ organizationId }, _args, { loaders }) =>
    organizationId === null ? null : loaders.organizations.load(organizationId),
};

/** Operators may use an API key. Organisations must be signed in as an owner. */
function requireAuditReader(context: GraphqlContext): AuthenticatedPrincipal {
  const { organizationId } = requirePrincipal(context);
  return organizationId === null ? requireOperator(context, "webhooks:manage") : requireOwner(context);
}

function organizationUuid(id: string | null, reader: AuthenticatedPrincipal): string | undefined {
  if (id === null) return undefined;
  if (reader.organizationId !== null)
    throw invalidArgument("organizationId", "can only be used by operators of the service");
  const uuid = fromTypedId("org", id);
  if (uuid === null) throw invalidArgument("organizationId", "must be an organisation ID");
  return uuid;
}
