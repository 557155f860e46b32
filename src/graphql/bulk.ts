/** Mutations of many jobs: from the results of the items to what is answered. */
import { requireScope } from "../api-keys/api-key.verifier.ts";
import type { BulkOptions, ItemFailure, ItemResult } from "../jobs/job.bulk.ts";
import { changeContext } from "./access.ts";
import type { GraphqlContext } from "./context.ts";
import type { Holder } from "./holder.ts";
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
  holder: Holder,
  { errorPolicy, dryRun }: BulkArguments,
): BulkOptions {
  // A dry run reads jobs and leaves them unchanged.
  if (dryRun) requireScope(holder, "jobs:read");
  const policy = errorPolicy === "SKIP_FAILED" ? "skip_failed" : "all_or_nothing";
  return { ...changeContext(context, holder), dryRun, errorPolicy: policy };
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
    userErrors: "failure" in item ? errorsOf(item.failure, path) : [],
  };
}

function errorsOf(failure: ItemFailure, path: string): UserErrorNode[] {
  const isOfPatch = failure.code === "BadRequestException";
  const subject = `${path}.${isOfPatch ? "patch" : "markingNumber"}`;
  const place = { fields: path, subject, version: `${path}.expectedVersion` };
  const known = toUserErrors(failure, place);
  // What the database itself refuses is refused for its values.
  return known ?? [{ code: "INVALID", field: path, message: failure.message }];
}
