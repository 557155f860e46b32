/** Lists account requests for operators. */
import { accountRequestCursor, countAccountRequests, listAccountRequests } from "../../../accounts/api.ts";
import { requireAdministrator } from "../authorize.ts";
import type { AccountRequestResolvers, QueryResolvers } from "../generated/schema-types.ts";
import { toAccountRequestNode } from "../nodes/account.node.ts";
import { uuidOf } from "../nodes/node-id.ts";
import { listConnection } from "../pagination.ts";
import { selectionOf } from "../execution/selection.ts";

export const accountRequestQueries: QueryResolvers = {
  async accountRequests(_root, { status, ...args }, context, info) {
    requireAdministrator(context);
    const filter = { statuses: status ?? undefined };
    const hasTotal = selectionOf(info).has("totalCount");
    return await listConnection(args, {
      cursor: accountRequestCursor,
      async list(page) {
        const [listed, total] = await Promise.all([
          listAccountRequests(context.database, { ...filter, ...page }),
          hasTotal ? countAccountRequests(context.database, filter) : null,
        ]);
        return { ...listed, total };
      },
      toNode: toAccountRequestNode,
    });
  },
};

export const accountRequest: AccountRequestResolvers = {
  organization: ({ organizationId }, _args, { loaders }) =>
    organizationId === null ? null : loaders.load("organizations", organizationId),
  warnings: ({ id }, _args, { loaders }) => loaders.load("accountRequestWarnings", uuidOf("arq", id)),
  notes: ({ id }, _args, { loaders }) => loaders.load("accountRequestNotes", uuidOf("arq", id)),
};
