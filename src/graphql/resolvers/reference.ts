/** Job statuses and failure reasons. */
import type { FailureReasonCode } from "../../jobs/api.ts";
import { authorize } from "../authorize.ts";
import type { FailureReason, QueryResolvers } from "../generated/schema-types.ts";

export const referenceQueries: Pick<QueryResolvers, "jobStatuses" | "failureReasons"> = {
  async jobStatuses(_root, _args, context) {
    authorize(context, "jobs:read");
    return [...(await context.loaders.statuses()).values()];
  },
  async failureReasons(_root, _args, context) {
    authorize(context, "jobs:read");
    return (await context.services.referenceData.failureReasons(context.database)).map(toFailureReason);
  },
};

function toFailureReason({ code, label, applies_to, next_step }: FailureReasonCode): FailureReason {
  return {
    code,
    label,
    appliesTo: applies_to.map((status) => status.toUpperCase() as Uppercase<typeof status>),
    nextStep: next_step.toUpperCase() as Uppercase<typeof next_step>,
  };
}
