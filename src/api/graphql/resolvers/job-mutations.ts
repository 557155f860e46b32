/** Mutations that update jobs. */
import { authorize, changeContext } from "../authorize.ts";
import { bulkOptions, toBulkPayload, toBulkResult } from "../bulk.ts";
import type {
  BulkJobResultResolvers,
  JobPatch,
  MutationResolvers,
  UpdateJobInput,
  UpdateJobPayloadResolvers,
} from "../generated/schema-types.ts";
import type { GraphqlContext } from "../context.ts";
import { snakeCase } from "../../../core/names.ts";
import type { JobNode } from "../nodes/job.node.ts";

/** Prefix of problem fields, relative to the item. */
const path = "patch.";

export const jobMutations: MutationResolvers = {
  async updateJob(_root, { input }, context) {
    const principal = authorize(context, "jobs:write");
    const options = { ...changeContext(context, principal), dryRun: false, path };
    const { result } = await context.services.jobs.updateOne(principal, toUpdateItem(input), options);
    return toBulkResult(result, "input");
  },

  async updateJobs(_root, { items, ...args }, context) {
    const principal = authorize(context, "jobs:write");
    const options = { ...bulkOptions(context, principal, args), pathOf: () => path };
    const { results } = await context.services.jobs.updateBatch(principal, items.map(toUpdateItem), options);
    const { appliedCount: updatedCount, ...payload } = toBulkPayload(results);
    return { ...payload, updatedCount };
  },
};

/** Returning the job requires `jobs:read`. With `jobs:write` only, a key sees the outcome but not the job. */
export const updatedJob: Pick<BulkJobResultResolvers & UpdateJobPayloadResolvers, "job"> = {
  job({ job = null }: { job?: JobNode | null }, _args: unknown, context: GraphqlContext) {
    if (job !== null) authorize(context, "jobs:read");
    return job;
  },
};

function toUpdateItem({ markingNumber, expectedVersion, patch }: UpdateJobInput) {
  return {
    markingNumber,
    body: toContractFields(patch),
    expectedVersions: typeof expectedVersion === "number" ? [expectedVersion] : undefined,
  };
}

/** Returns the patch with the field names of the REST API. */
export function toContractFields(patch: JobPatch): Record<string, unknown> {
  return Object.fromEntries(Object.entries(patch).map(([name, value]) => [snakeCase(name), value]));
}
