/** Job statuses and failure reasons. */
import { authorize } from "../authorize.ts";
import type {
  FailureReasonResolvers,
  JobStatusResolvers,
  QueryResolvers,
} from "../generated/schema-types.ts";

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

export const jobStatus: JobStatusResolvers = {
  isTerminal: ({ is_terminal }) => is_terminal,
};

export const failureReason: FailureReasonResolvers = {
  appliesTo: ({ applies_to }) => applies_to,
  nextStep: ({ next_step }) => next_step,
};
