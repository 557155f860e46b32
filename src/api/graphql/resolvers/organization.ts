/** Lists organisations for operators, and returns the fields of an organisation that not every principal may see. */
import { listOrganizations, organizationCursor } from "../../../organizations/api.ts";
import { requirePrincipal } from "../authorize.ts";
import type { GraphqlContext } from "../context.ts";
import type { OrganizationResolvers, QueryResolvers } from "../generated/schema-types.ts";
import { type OrganizationNode, toOrganizationNode, uuidOf } from "../nodes.ts";
import { listConnection } from "../pagination.ts";
import { selectionOf } from "../execution/selection.ts";

export const organizationQueries: QueryResolvers = {
  async organizations(_root, { search, ...args }, context, info) {
    const selected = selectionOf(info);
    const include = {
      items: selected.has("nodes") || selected.has("edges") || selected.has("pageInfo"),
      total: selected.has("totalCount"),
    };
    const filter = { search: search ?? null, include };
    return await listConnection(args, {
      cursor: organizationCursor,
      list: (page) => listOrganizations(context.database, { ...filter, ...page }),
      toNode: toOrganizationNode,
    });
  },
};

export const organization: OrganizationResolvers = {
  async createdAt(node, _args, context) {
    return (await organizationSummaryOf(node, context))?.createdAt ?? null;
  },
  async suspendedAt(node, _args, context) {
    return isOperator(context) ? ((await organizationSummaryOf(node, context))?.suspendedAt ?? null) : null;
  },
  async memberCount(node, _args, context) {
    return isOperator(context) ? ((await organizationSummaryOf(node, context))?.memberCount ?? null) : null;
  },
};

/** Returns null for other organisations, unless the principal is an operator. */
async function organizationSummaryOf({ id }: OrganizationNode, context: GraphqlContext) {
  const uuid = uuidOf("org", id);
  const isOwn = requirePrincipal(context).organizationId === uuid;
  return isOwn || isOperator(context) ? await context.loaders.load("organizationSummaries", uuid) : null;
}

function isOperator(context: GraphqlContext): boolean {
  return requirePrincipal(context).organizationId === null;
}
