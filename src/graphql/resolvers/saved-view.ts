/** Saved views of the job list, per user. */
import { requireUser } from "../authorize.ts";
import type { MutationResolvers, QueryResolvers } from "../generated/schema-types.ts";
import { withUserErrors } from "../user-errors.ts";

export const savedViewQueries: Pick<QueryResolvers, "savedViews"> = {
  savedViews: (_root, _args, context) =>
    context.services.views.list(requireUser(context).user.id, context.database),
};

export const savedViewMutations: Pick<MutationResolvers, "saveView" | "deleteView"> = {
  saveView(_root, view, context) {
    const { user } = requireUser(context);
    return withUserErrors({ fields: "", subject: "name" }, { view: null }, async () => ({
      view: await context.services.views.save(user.id, view),
    }));
  },

  deleteView(_root, { id }, context) {
    const { user } = requireUser(context);
    return withUserErrors({ fields: "", subject: "id" }, { id: null }, async () => {
      await context.services.views.delete(user.id, id);
      return { id };
    });
  },
};
