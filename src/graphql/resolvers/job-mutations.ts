/** Changing jobs. */
import { authorize, changeContext } from "../authorize.ts";
import { invariant } from "../../platform/errors.ts";
import { bulkOptions, toBulkPayload, toBulkResult } from "../bulk.ts";
import type {
  BulkJobResultResolvers,
  JobPatch,
  MutationResolvers,
  UpdateJobInput,
  UpdateJobPayloadResolvers,
} from "../generated/schema-types.ts";
import type { GraphqlContext } from "../context.ts";
import { snakeCase } from "../field-names.ts";
import type { JobNode } from "../nodes/job.node.ts";

/** A problem names the item's own member. */
const pathOf = (): string => "patch.";

export const jobMutations: Pick<MutationResolvers, "updateJob" | "updateJobs"> = {
  async updateJob(_root, { input }, context) {
    const holder = authorize(context, "jobs:write");
    const options = { ...changeContext(context, holder), dryRun: false, pathOf };
    const { results } = await context.services.jobs.updateBatch(holder, [toUpdateCommand(input)], options);
    const [result] = results;
    invariant(result, "an item has a result");
    return toBulkResult(result, "input");
  },

  async updateJobs(_root, { items, ...args }, context) {
    const holder = authorize(context, "jobs:write");
    const options = { ...bulkOptions(context, holder, args), pathOf };
    const { results } = await context.services.jobs.updateBatch(holder, items.map(toUpdateCommand), options);
    const { appliedCount: updatedCount, ...payload } = toBulkPayload(results);
    return { ...payload, updatedCount };
  },
};

/** A key that may change jobs but not read them learns whether the change was made, not what the job holds. */
export const updatedJob: Pick<BulkJobResultResolvers & UpdateJobPayloadResolvers, "job"> = {
  job({ job = null }: { job?: JobNode | null }, _args: unknown, context: GraphqlContext) {
    if (job !== null) authorize(context, "jobs:read");
    return job;
  },
};

function toUpdateCommand({ markingNumber, expectedVersion, patch }: UpdateJobInput) {
  return {
    markingNumber,
    body: toContractFields(patch),
    expectedVersions: typeof expectedVersion === "number" ? [expectedVersion] : undefined,
  };
}

/** The fields as the contract names them. */
export function toContractFields(patch: JobPatch): Record<string, unknown> {
  return Object.fromEntries(Object.entries(patch).map(([name, value]) => [snakeCase(name), value]));
}
