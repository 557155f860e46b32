/** Mutations of many jobs: from the results of the items to what is answered. */
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
  /** Items that were applied, whether or not they changed anything. */
  readonly appliedCount: number;
  readonly failedCount: number;
  readonly userErrors: UserErrorNode[];
}

export function bulkOptions(
  context: GraphqlContext,
  principal: AuthenticatedPrincipal,
  { errorPolicy, dryRun }: BulkArguments,
): BulkOptions {
  // A dry run reads jobs and leaves them unchanged.
  if (dryRun) requireScope(principal, "jobs:read");
  const policy = errorPolicy === "SKIP_FAILED" ? "skip_failed" : "all_or_nothing";
  return { ...changeContext(context, principal), dryRun, errorPolicy: policy };
}

export function toBulkPayload(items: readonly ItemResult[]): BulkPayload {
  const results = items.map((item, at) => toBulkResult(item, `items.${at}`));
  return {
    results,
    appliedCount: results.filter(({ job }) => job !== null).length,
    failedCount: results.filter(({ outcome }) => outcome === "FAILED").length,
    userErrors: results.flatMap(({ userErrors }) => userErrors),
  };
}

/** `path`: where the item stands among the arguments. Its failure names the item's own members. */
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
  // What the database itself refuses is refused for its values.
  return userErrors ?? [{ code: "INVALID", field: path, message: failure.message }];
}
