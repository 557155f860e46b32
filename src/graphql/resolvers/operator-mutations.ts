/** What operators alone change. */
import { fromTypedId } from "../../platform/ids.ts";
import { requireOperator } from "../authorize.ts";
import { bulkOptions, toBulkPayload } from "../bulk.ts";
import { invalidArgument } from "../invalid-argument.ts";
import type { MutationResolvers } from "../generated/schema-types.ts";
import { toJobStatusNode } from "../nodes/status.node.ts";
import { withUserErrors } from "../user-errors.ts";
import { toContractFields } from "./job-mutations.ts";

export const operatorMutations: Pick<
  MutationResolvers,
  "createJobs" | "assignJobs" | "setProviderStatus" | "upsertJobStatus"
> = {
  async createJobs(_root, { items, ...args }, context) {
    const operator = requireOperator(context, "jobs:write");
    const jobs = items.map(({ markingNumber, agentId, contractorId, fields, providerStatus }, at) => ({
      markingNumber,
      agentId: organizationUuid(`items.${at}.agentId`, agentId),
      contractorId: contractorUuid(contractorId ?? null, at),
      fields: toContractFields(fields ?? {}),
      providerStatus: providerStatus ?? null,
    }));
    const options = bulkOptions(context, operator, args);
    const results = await context.services.operations.createJobs(operator, jobs, options);
    const { appliedCount: createdCount, ...payload } = toBulkPayload(results);
    return { ...payload, createdCount };
  },

  async assignJobs(_root, { items, ...args }, context) {
    const operator = requireOperator(context, "jobs:write");
    const assignments = items.map(({ markingNumber, contractorId }, at) => ({
      markingNumber,
      contractorId: contractorUuid(requireGiven(`items.${at}.contractorId`, contractorId), at),
    }));
    const options = bulkOptions(context, operator, args);
    const results = await context.services.operations.assignJobs(operator, assignments, options);
    const { appliedCount: assignedCount, ...payload } = toBulkPayload(results);
    return { ...payload, assignedCount };
  },

  async setProviderStatus(_root, { items, ...args }, context) {
    const operator = requireOperator(context, "jobs:write");
    const changes = items.map(({ markingNumber, providerStatus }, at) => ({
      markingNumber,
      providerStatus: requireGiven(`items.${at}.providerStatus`, providerStatus),
    }));
    const options = bulkOptions(context, operator, args);
    const results = await context.services.operations.setProviderStatus(operator, changes, options);
    const { appliedCount: updatedCount, ...payload } = toBulkPayload(results);
    return { ...payload, updatedCount };
  },

  upsertJobStatus(_root, { input }, context) {
    const operator = requireOperator(context, "jobs:write");
    return withUserErrors({ fields: "input", subject: null }, { status: null }, async () => {
      const settings = { ...input, category: input.category.toLowerCase() };
      return {
        status: toJobStatusNode(await context.services.referenceData.upsertStatus(operator, settings)),
      };
    });
  },
};

/** Absent keeps, null clears: what is there to be set is never left out. */
function requireGiven<Value>(path: string, value: Value | null | undefined): Value | null {
  if (value === undefined) throw invalidArgument(path, "must be given; null clears it");
  return value;
}

function contractorUuid(id: string | null, index: number): string | null {
  return id === null ? null : organizationUuid(`items.${index}.contractorId`, id);
}

function organizationUuid(path: string, id: string): string {
  return fromTypedId("org", id) ?? throwInvalidId(path, id);
}

function throwInvalidId(path: string, id: string): never {
  throw invalidArgument(path, `is no organisation's id (${JSON.stringify(id)})`);
}
