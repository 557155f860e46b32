/** Mutations that change jobs, and the arguments and payloads of test mode that differ from its operations. */
import { invalidArgument, invariant } from "../../../core/errors.ts";
import { snakeCase } from "../../../core/names.ts";
import type { ChangeContext, OperatorPrincipal } from "../../../core/principal.ts";
import type {
  BulkOptions,
  ItemFailure,
  ItemResult,
  RescheduleTarget,
  UpdateItem,
} from "../../../jobs/api.ts";
import { rootAccess } from "../../../operations/all.ts";
import { authorize } from "../../../operations/admit.ts";
import { withAccess } from "../authorize.ts";
import type {
  JobPatch,
  RescheduleJobInput,
  Resolvers,
  UpdateJobInput,
  UserError,
} from "../generated/schema-types.ts";
import type { GraphqlContext } from "../context.ts";
import { type JobNode, organizationUuid, toJobNode } from "../nodes.ts";
import { toUserErrors } from "../user-errors.ts";
import { keyedMutation, unwrapResponse } from "../keyed-mutation.ts";
import type { Adjustment } from "../operation-mutations.ts";

/** Prefix of problem fields, relative to the item. */
const PATCH_PATH = "patch.";

export const jobMutationResolvers: Resolvers = {
  Mutation: withAccess({
    async updateJob(_root, { input }, context) {
      const { principal, services } = context;
      const { jobs, idempotency } = services;
      const response = await idempotency.runOnce(keyedMutation("updateJob", input), async (tx) => {
        const options = { ...changeContext(context), dryRun: false, path: PATCH_PATH, tx };
        const { result } = await jobs.updateOne(principal, toUpdateItem(input), options);
        return { data: result, changed: result.outcome === "updated" };
      });
      return toBulkResult(unwrapResponse(response) as ItemResult, "input");
    },

    updateJobs: (_root, args, context) =>
      changeInBulk("updateJobs", args, context, async ({ jobs }, options) => {
        const items = args.items.map(toUpdateItem);
        const batch = { ...options, pathOf: () => PATCH_PATH };
        return (await jobs.updateBatch(context.principal, items, batch)).results;
      }),

    rescheduleJobs: (_root, args, context) =>
      changeInBulk("rescheduleJobs", args, context, ({ jobs }, options) =>
        jobs.reschedule(context.principal, args.items.map(toTarget), args, options),
      ),

    async createJobs(_root, { items, ...args }, context) {
      const operator = operatorOf(context);
      const jobs = items.map(({ markingNumber, agentId, contractorId, fields, providerStatus }, index) => ({
        markingNumber,
        agentId: organizationUuid(`items.${index}.agentId`, agentId),
        contractorId: contractorUuid(contractorId ?? null, index),
        fields: toContractFields(fields ?? {}),
        providerStatus: providerStatus ?? null,
      }));
      const options = bulkOptions(context, args);
      const results = await context.services.operations.createJobs(operator, jobs, options);
      return toBulkPayload("createdCount", results);
    },

    async assignJobs(_root, { items, ...args }, context) {
      const operator = operatorOf(context);
      const assignments = items.map(({ markingNumber, contractorId }, index) => ({
        markingNumber,
        contractorId: contractorUuid(requireGiven(`items.${index}.contractorId`, contractorId), index),
      }));
      const options = bulkOptions(context, args);
      const results = await context.services.operations.assignJobs(operator, assignments, options);
      return toBulkPayload("assignedCount", results);
    },

    async setProviderStatus(_root, { items, ...args }, context) {
      const operator = operatorOf(context);
      const changes = items.map(({ markingNumber, providerStatus }, index) => ({
        markingNumber,
        providerStatus: requireGiven(`items.${index}.providerStatus`, providerStatus),
      }));
      const options = bulkOptions(context, args);
      const results = await context.services.operations.setProviderStatus(operator, changes, options);
      return toBulkPayload("updatedCount", results);
    },
  }),
  UpdateJobPayload: { job: visibleJob },
  BulkJobResult: { job: visibleJob },
};

function operatorOf({ principal }: GraphqlContext): OperatorPrincipal {
  invariant(principal.organizationId === null, "the access of the field is an operator's");
  return principal;
}

/** Returning the job requires `jobs:read`. With `jobs:write` only, a key sees the outcome but not the job. */
function visibleJob(
  { job = null }: { job?: JobNode | null },
  _args: unknown,
  { principal }: GraphqlContext,
): JobNode | null {
  if (job !== null) authorize(rootAccess.job, principal);
  return job;
}

async function changeInBulk(
  field: string,
  args: BulkArguments,
  context: GraphqlContext,
  change: (services: GraphqlContext["services"], options: BulkOptions) => Promise<ItemResult[]>,
) {
  const { services } = context;
  const response = await services.idempotency.runOnce(keyedMutation(field, args), async (tx) => {
    const results = await change(services, { ...bulkOptions(context, args), tx });
    return { data: results, changed: !args.dryRun && results.some(({ outcome }) => outcome === "updated") };
  });
  return toBulkPayload("updatedCount", unwrapResponse(response) as ItemResult[]);
}

function toUpdateItem({ patch, ...target }: UpdateJobInput): UpdateItem {
  return { ...toTarget(target), body: toContractFields(patch) };
}

function toTarget({ markingNumber, expectedVersion }: RescheduleJobInput): RescheduleTarget {
  return {
    markingNumber,
    expectedVersions: typeof expectedVersion === "number" ? [expectedVersion] : undefined,
  };
}

/** Returns the patch with the field names of the REST API. */
function toContractFields(patch: JobPatch): Record<string, unknown> {
  return Object.fromEntries(Object.entries(patch).map(([name, value]) => [snakeCase(name), value]));
}

/** Throws BadRequestException for an absent value. Null is allowed and clears the value. */
function requireGiven<Value>(path: string, value: Value | null | undefined): Value | null {
  if (value === undefined) throw invalidArgument(path, "is required; null clears the value");
  return value;
}

function contractorUuid(id: string | null, index: number): string | null {
  return id === null ? null : organizationUuid(`items.${index}.contractorId`, id);
}

function changeContext({ principal, requestId }: GraphqlContext): ChangeContext {
  return { actor: principal.actor, requestId };
}

interface BulkArguments {
  readonly errorPolicy: NonNullable<BulkOptions["errorPolicy"]>;
  readonly dryRun: boolean;
}

function bulkOptions(context: GraphqlContext, { errorPolicy, dryRun }: BulkArguments): BulkOptions {
  return { ...changeContext(context), dryRun, errorPolicy };
}

/** `count` is the field with the number of items that were applied, including those that changed nothing. */
function toBulkPayload<Count extends string>(count: Count, items: readonly ItemResult[]) {
  const results = items.map((item, index) => toBulkResult(item, `items.${index}`));
  const applied = results.filter(({ job }) => job !== null).length;
  return {
    results,
    ...({ [count]: applied } as Record<Count, number>),
    failedCount: results.filter(({ outcome }) => outcome === "failed").length,
    userErrors: results.flatMap(({ userErrors }) => userErrors),
  };
}

/** `path` is the item's path in the arguments, such as `items.3`; it prefixes the fields of the item's errors. */
function toBulkResult(item: ItemResult, path: string) {
  return {
    markingNumber: item.markingNumber,
    outcome: item.outcome,
    job: "job" in item ? toJobNode(item.job) : null,
    userErrors: "failure" in item ? toItemErrors(item.failure, path) : [],
  };
}

function toItemErrors(failure: ItemFailure, path: string): UserError[] {
  const isPatchError = failure.code === "BadRequestException";
  const subject = `${path}.${isPatchError ? "patch" : "markingNumber"}`;
  const errorPath = { fields: path, subject, version: `${path}.expectedVersion` };
  const userErrors = toUserErrors(failure, errorPath);
  // Any other failure comes from the database rejecting the item's values.
  return userErrors ?? [{ code: "invalid", field: path, message: failure.message }];
}

export const testModeAdjustments: Readonly<Record<string, Adjustment>> = {
  createTestJobs: {
    toInput: ({ input }) => {
      const { template, ...others } = input as { template?: JobPatch };
      return { input: { ...others, ...(template && { template: toContractFields(template) }) } };
    },
    toPayload: ({ rows }: { rows: readonly Parameters<typeof toJobNode>[0][] }) => ({
      jobs: rows.map(toJobNode),
    }),
  },
  reassignTestJob: {
    toPayload: ({ row }: { row: Parameters<typeof toJobNode>[0] }) => ({ job: toJobNode(row) }),
  },
  sendSampleEvent: { toPayload: ({ items }: { items: readonly unknown[] }) => ({ deliveries: items }) },
};
