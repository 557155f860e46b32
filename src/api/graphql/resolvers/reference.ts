/** Job statuses and failure reasons. */
import { authorize } from "../authorize.ts";
import type { QueryResolvers } from "../generated/schema-types.ts";

export const referenceQueries: QueryResolvers = {
  async jobStatuses(_root, _args, context) {
    authorize(context, "jobs:read");
    return [...(await context.loaders.statuses()).values()];
  },
  failureReasons(_root, _args, context) {
    authorize(context, "jobs:read");
    return context.services.referenceData.failureReasons(context.database);
  },
};
