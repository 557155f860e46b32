/** Arguments and payloads of the mutations that change several jobs. */
import { requireScope } from "../api-keys/api.ts";
import type { BulkOptions, ItemFailure, ItemResult } from "../jobs/api.ts";
import { changeContext } from "./authorize.ts";
import type { GraphqlContext } from "./context.ts";
import type { AuthenticatedPrincipal } from "./principal.ts";
import { toJobNode, type JobNode } from "./nodes/job.node.ts";
import { toUserErrors, type UserErrorNode } from "./user-errors.ts";

export interface BulkArguments {
  readonly errorPolicy: "SKIP_FAILED" | "ALL_OR_NOTHING";
  readonly dryRun: boolean;
}

export interface BulkResultNode {
  readonly markingNumber: string;
  readonly outcome: "CREATED" | "UPDATED" | "UNCHANGED" | "FAILED" | "NOT_APPLIED";
  readonly job: JobNode | null;
  readonly userErrors: UserErrorNode[];
}

export interface BulkPayload {
  readonly results: BulkResultNode[];
  /** Items that were applied, including those that changed nothing. */
  readonly appliedCount: number;
  readonly failedCount: number;
  readonly userErrors: UserErrorNode[];
}

export function bulkOptions(
  context: GraphqlContext,
  principal: AuthenticatedPrincipal,
  { errorPolicy, dryRun }: BulkArguments,
): BulkOptions {
  // A dry run returns job data.
  if (dryRun) requireScope(principal, "jobs:read");
  const policy = errorPolicy === "SKIP_FAILED" ? "skip_failed" : "all_or_nothing";
  return { ...changeContext(context, principal), dryRun, errorPolicy: policy };
}

export function toBulkPayload(items: readonly ItemResult[]): BulkPayload {
  const results = items.map((item, index) => toBulkResult(item, `items.${index}`));
  return {
    results,
    appliedCount: results.filter(({ job }) => job !== null).length,
    failedCount: results.filter(({ outcome }) => outcome === "FAILED").length,
    userErrors: results.flatMap(({ userErrors }) => userErrors),
  };
}

/** `path` is the item's path in the arguments, such as `items.3`; it prefixes the fields of the item's errors. */
export function toBulkResult(item: ItemResult, path: string): BulkResultNode {
  return {
    markingNumber: item.markingNumber,
    outcome: item.outcome.toUpperCase() as Uppercase<typeof item.outcome>,
    job: "job" in item ? toJobNode(item.job) : null,
    userErrors: "failure" in item ? toItemErrors(item.failure, path) : [],
  };
}

function toItemErrors(failure: ItemFailure, path: string): UserErrorNode[] {
  const isPatchError = failure.code === "BadRequestException";
  const subject = `${path}.${isPatchError ? "patch" : "markingNumber"}`;
  const errorPath = { fields: path, subject, version: `${path}.expectedVersion` };
  const userErrors = toUserErrors(failure, errorPath);
  // Any other failure comes from the database rejecting the item's values.
  return userErrors ?? [{ code: "INVALID", field: path, message: failure.message }];
}
