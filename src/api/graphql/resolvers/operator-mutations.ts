/** Mutations of several jobs that only operators can use. */
import { requireOperator } from "../authorize.ts";
import { bulkOptions, toBulkPayload } from "../bulk.ts";
import { invalidArgument, organizationUuid } from "../arguments.ts";
import type { MutationResolvers } from "../generated/schema-types.ts";
import { toContractFields } from "./job-mutations.ts";

export const operatorMutations: MutationResolvers = {
  async createJobs(_root, { items, ...args }, context) {
    const operator = requireOperator(context, "jobs:write");
    const jobs = items.map(({ markingNumber, agentId, contractorId, fields, providerStatus }, index) => ({
      markingNumber,
      agentId: organizationUuid(`items.${index}.agentId`, agentId),
      contractorId: contractorUuid(contractorId ?? null, index),
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
    const assignments = items.map(({ markingNumber, contractorId }, index) => ({
      markingNumber,
      contractorId: contractorUuid(requireGiven(`items.${index}.contractorId`, contractorId), index),
    }));
    const options = bulkOptions(context, operator, args);
    const results = await context.services.operations.assignJobs(operator, assignments, options);
    const { appliedCount: assignedCount, ...payload } = toBulkPayload(results);
    return { ...payload, assignedCount };
  },

  async setProviderStatus(_root, { items, ...args }, context) {
    const operator = requireOperator(context, "jobs:write");
    const changes = items.map(({ markingNumber, providerStatus }, index) => ({
      markingNumber,
      providerStatus: requireGiven(`items.${index}.providerStatus`, providerStatus),
    }));
    const options = bulkOptions(context, operator, args);
    const results = await context.services.operations.setProviderStatus(operator, changes, options);
    const { appliedCount: updatedCount, ...payload } = toBulkPayload(results);
    return { ...payload, updatedCount };
  },
};

/** Throws BadRequestException for an absent value. Null is allowed and clears the value. */
function requireGiven<Value>(path: string, value: Value | null | undefined): Value | null {
  if (value === undefined) throw invalidArgument(path, "is required; null clears the value");
  return value;
}

function contractorUuid(id: string | null, index: number): string | null {
  return id === null ? null : organizationUuid(`items.${index}.contractorId`, id);
}
