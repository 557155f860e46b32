/** Lists organisations for operators, and returns the fields of an organisation that not every principal may see. */
import { listOrganizations, organizationCursor } from "../../../organizations/api.ts";
import { requireOperator, requirePrincipal } from "../authorize.ts";
import type { GraphqlContext } from "../context.ts";
import { invalidArgument } from "../arguments.ts";
import type { OrganizationResolvers, QueryResolvers } from "../generated/schema-types.ts";
import { type OrganizationNode, toOrganizationNode, uuidOf } from "../nodes.ts";
import { listConnection } from "../pagination.ts";
import { selectionOf } from "../execution/selection.ts";

const MAX_SEARCH = 255;

export const organizationQueries: QueryResolvers = {
  async organizations(_root, { search, ...args }, context, info) {
    requireOperator(context, "jobs:read");
    const selected = selectionOf(info);
    const include = {
      items: selected.has("nodes") || selected.has("edges") || selected.has("pageInfo"),
      total: selected.has("totalCount"),
    };
    const filter = { search: validatedSearch(search ?? null), include };
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

function validatedSearch(search: string | null): string | null {
  if (search === null) return null;
  if (Array.from(search).length > MAX_SEARCH)
    throw invalidArgument("search", `must be at most ${MAX_SEARCH} characters`);
  if (search.includes("\0") || !search.isWellFormed())
    throw invalidArgument("search", "must not contain U+0000 or a lone surrogate");
  return search;
}
