/** What operators alone change. */
import { fromTypedId } from "../../platform/ids.ts";
import { operatorOf } from "../access.ts";
import { bulkOptions, toBulkPayload } from "../bulk.ts";
import { badArgument } from "../errors.ts";
import type { MutationResolvers } from "../generated/schema-types.ts";
import { toJobStatus } from "../nodes/status.node.ts";
import { orUserErrors } from "../user-errors.ts";
import { toBody } from "./job-mutations.ts";

export const operatorMutations: Pick<
  MutationResolvers,
  "createJobs" | "assignJobs" | "setProviderStatus" | "upsertJobStatus"
> = {
  async createJobs(_root, { items, ...args }, context) {
    const operator = operatorOf(context, "jobs:write");
    const jobs = items.map(({ markingNumber, agentId, contractorId, fields, providerStatus }, at) => ({
      markingNumber,
      agentId: organizationUuid(`items.${at}.agentId`, agentId),
      contractorId: contractorUuid(contractorId ?? null, at),
      fields: toBody(fields ?? {}),
      providerStatus: providerStatus ?? null,
    }));
    const options = bulkOptions(context, operator, args);
    const results = await context.services.operations.createJobs(operator, jobs, options);
    const { appliedCount: createdCount, ...payload } = toBulkPayload(results);
    return { ...payload, createdCount };
  },

  async assignJobs(_root, { items, ...args }, context) {
    const operator = operatorOf(context, "jobs:write");
    const assignments = items.map(({ markingNumber, contractorId }, at) => ({
      markingNumber,
      contractorId: contractorUuid(given(`items.${at}.contractorId`, contractorId), at),
    }));
    const options = bulkOptions(context, operator, args);
    const results = await context.services.operations.assignJobs(operator, assignments, options);
    const { appliedCount: assignedCount, ...payload } = toBulkPayload(results);
    return { ...payload, assignedCount };
  },

  async setProviderStatus(_root, { items, ...args }, context) {
    const operator = operatorOf(context, "jobs:write");
    const changes = items.map(({ markingNumber, providerStatus }, at) => ({
      markingNumber,
      providerStatus: given(`items.${at}.providerStatus`, providerStatus),
    }));
    const options = bulkOptions(context, operator, args);
    const results = await context.services.operations.setProviderStatus(operator, changes, options);
    const { appliedCount: updatedCount, ...payload } = toBulkPayload(results);
    return { ...payload, updatedCount };
  },

  upsertJobStatus(_root, { input }, context) {
    const operator = operatorOf(context, "jobs:write");
    return orUserErrors({ fields: "input", subject: null }, { status: null }, async () => {
      const settings = { ...input, category: input.category.toLowerCase() };
      return { status: toJobStatus(await context.services.codes.upsertStatus(operator, settings)) };
    });
  },
};

/** Absent keeps, null clears: what is there to be set is never left out. */
function given<Value>(path: string, value: Value | null | undefined): Value | null {
  if (value === undefined) throw badArgument(path, "must be given; null clears it");
  return value;
}

function contractorUuid(id: string | null, at: number): string | null {
  return id === null ? null : organizationUuid(`items.${at}.contractorId`, id);
}

function organizationUuid(path: string, id: string): string {
  return fromTypedId("org", id) ?? notAnId(path, id);
}

function notAnId(path: string, id: string): never {
  throw badArgument(path, `is no organisation's id (${JSON.stringify(id)})`);
}
