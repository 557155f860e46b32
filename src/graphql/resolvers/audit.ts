/** Reading the audit log: an organisation's owners theirs, operators all of it. */
import { actCursor, listActs, readActCursor } from "../../accounts/audit.service.ts";
import { fromTypedId } from "../../platform/ids.ts";
import { holderOf, operatorOf, ownerOf } from "../access.ts";
import type { GraphqlContext } from "../context.ts";
import { badArgument } from "../errors.ts";
import type { AuditEntryResolvers, QueryResolvers } from "../generated/schema-types.ts";
import type { Holder } from "../holder.ts";
import { toAuditEntryNode } from "../nodes/audit-entry.node.ts";
import { pageRequest, readCursor, toConnection } from "../paging.ts";

const ACTION = /^[a-z_]{1,40}\.[a-z_]{1,40}$/;

export const auditQueries: Pick<QueryResolvers, "auditLog"> = {
  async auditLog(_root, { actions, organizationId, ...args }, context) {
    const reader = readerOf(context);
    for (const [at, action] of (actions ?? []).entries())
      if (!ACTION.test(action)) throw badArgument(`actions.${at}`, "is no action, such as `member.removed`");
    const page = pageRequest(args);
    const after = readCursor(page, readActCursor);
    const { items, hasMore } = await listActs(context.database, reader, {
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
      cursorOf: actCursor,
    });
  },
};

export const auditEntry: AuditEntryResolvers = {
  organization: ({ organizationId }, _args, { loaders }) =>
    organizationId === null ? null : loaders.organizations.load(organizationId),
};

/** An operator's key may read it as well; of an organisation only its owners may. */
function readerOf(context: GraphqlContext): Holder {
  const { organizationId } = holderOf(context);
  return organizationId === null ? operatorOf(context, "webhooks:manage") : ownerOf(context);
}

function organizationUuid(id: string | null, reader: Holder): string | undefined {
  if (id === null) return undefined;
  if (reader.organizationId !== null) throw badArgument("organizationId", "is for operators of the service");
  const uuid = fromTypedId("org", id);
  if (uuid === null) throw badArgument("organizationId", "is no organisation's id");
  return uuid;
}
