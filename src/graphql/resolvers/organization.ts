/** Lists organisations for operators, and returns the fields of an organisation that not every principal may see. */
import { listOrganizations, organizationCursor, readOrganizationCursor } from "../../organizations/api.ts";
import { fromTypedId } from "../../platform/ids.ts";
import { requirePrincipal, requireOperator } from "../authorize.ts";
import type { GraphqlContext } from "../context.ts";
import { invalidArgument } from "../invalid-argument.ts";
import type { OrganizationResolvers, QueryResolvers } from "../generated/schema-types.ts";
import type { OrganizationSummary } from "../nodes/loaders.ts";
import { toOrganizationNode, type OrganizationNode } from "../nodes/organization.node.ts";
import { pageRequest, readCursor, toConnection } from "../pagination.ts";
import { selectionOf } from "../execution/selection.ts";

const MAX_SEARCH = 255;

export const organizationQueries: Pick<QueryResolvers, "organizations"> = {
  async organizations(_root, { search, ...args }, context, info) {
    requireOperator(context, "jobs:read");
    const page = pageRequest(args);
    const after = readCursor(page, readOrganizationCursor);
    const selected = selectionOf(info);
    const { items, hasMore, total } = await listOrganizations(context.database, {
      search: validatedSearch(search ?? null),
      limit: page.limit,
      after,
      include: {
        items: selected.has("nodes") || selected.has("edges") || selected.has("pageInfo"),
        total: selected.has("totalCount"),
      },
    });
    const connection = toConnection({
      items,
      hasNext: hasMore,
      hasPrevious: after !== null,
      toNode: toOrganizationNode,
      cursorOf: organizationCursor,
    });
    return Object.assign(connection, { totalCount: total ?? 0 });
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
async function organizationSummaryOf(
  { id }: OrganizationNode,
  context: GraphqlContext,
): Promise<OrganizationSummary | null> {
  const uuid = fromTypedId("org", id) as string;
  const isOwn = requirePrincipal(context).organizationId === uuid;
  return isOwn || isOperator(context) ? await context.loaders.organizationSummaries.load(uuid) : null;
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
