/** Saved views of the job list, per user. */
import { requireUser } from "../authorize.ts";
import type { MutationResolvers, QueryResolvers } from "../generated/schema-types.ts";
import { toSavedViewNode } from "../nodes/account.node.ts";
import { BY_ID, mutation } from "../mutation.ts";

export const savedViewQueries: QueryResolvers = {
  async savedViews(_root, _args, context) {
    const views = await context.services.views.list(requireUser(context).user.id, context.database);
    return views.map(toSavedViewNode);
  },
};

export const savedViewMutations: MutationResolvers = {
  saveView: mutation(requireUser, { fields: "", subject: "name" }, async ({ user }, view, { services }) => ({
    view: toSavedViewNode(await services.views.save(user.id, view)),
  })),

  deleteView: mutation(requireUser, BY_ID, async ({ user }, { id }, { services }) => {
    await services.views.delete(user.id, id);
    return { id };
  }),
};
