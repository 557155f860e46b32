/** Arguments and payloads of the mutations that change several jobs. */
import { requireScope } from "../../api-keys/api.ts";
import type { BulkOptions, ItemFailure, ItemResult } from "../../jobs/api.ts";
import { changeContext } from "./authorize.ts";
import type { GraphqlContext } from "./context.ts";
import type { UserError } from "./generated/schema-types.ts";
import type { AuthenticatedPrincipal } from "./authenticated-principal.ts";
import { toJobNode } from "./nodes/job.node.ts";
import { toUserErrors } from "./user-errors.ts";

export interface BulkArguments {
  readonly errorPolicy: NonNullable<BulkOptions["errorPolicy"]>;
  readonly dryRun: boolean;
}

export function bulkOptions(
  context: GraphqlContext,
  principal: AuthenticatedPrincipal,
  { errorPolicy, dryRun }: BulkArguments,
): BulkOptions {
  // A dry run returns job data.
  if (dryRun) requireScope(principal, "jobs:read");
  return { ...changeContext(context, principal), dryRun, errorPolicy };
}

export function toBulkPayload(items: readonly ItemResult[]) {
  const results = items.map((item, index) => toBulkResult(item, `items.${index}`));
  return {
    results,
    /** Items that were applied, including those that changed nothing. */
    appliedCount: results.filter(({ job }) => job !== null).length,
    failedCount: results.filter(({ outcome }) => outcome === "failed").length,
    userErrors: results.flatMap(({ userErrors }) => userErrors),
  };
}

/** `path` is the item's path in the arguments, such as `items.3`; it prefixes the fields of the item's errors. */
export function toBulkResult(item: ItemResult, path: string) {
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
