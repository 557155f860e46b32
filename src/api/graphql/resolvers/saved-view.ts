/** Saved views of the job list, per user. */
import { requireUser } from "../authorize.ts";
import type { QueryResolvers } from "../generated/schema-types.ts";
import { toSavedViewNode } from "../nodes/account.node.ts";

export const savedViewQueries: QueryResolvers = {
  async savedViews(_root, _args, context) {
    const views = await context.services.views.list(requireUser(context).user.id, context.database);
    return views.map(toSavedViewNode);
  },
};
