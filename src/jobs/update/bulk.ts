/** Applies up to 100 job changes per call with an error policy, and returns a result for each. */
import type { Database } from "../../core/postgres/database.ts";
import type { Transaction, TransactionEnd } from "../../core/postgres/transaction.ts";
import { badRequest } from "../../core/errors.ts";
import type { ChangeContext } from "../../core/principal.ts";
import { applyInBatches, type BatchExecutor, type DataRejected } from "./batches.ts";
import type { JobRow } from "../row.sql.ts";
import { notifyChanges, type ChangeListeners } from "./notify.ts";
import type { CheckedItem, ItemFailure } from "./validate-patch.ts";
import type { UpdateOutcome } from "./update-and-fan-out.sql.ts";

export const JOB_NOT_FOUND = "Delivery job not found";
/** The most items of a batch, in REST and GraphQL. */
export const MAX_BATCH_ITEMS = 100;

/** `skip_failed` applies every valid item. `all_or_nothing` applies none if one fails. */
export type ErrorPolicy = "skip_failed" | "all_or_nothing";

export interface BulkOptions extends ChangeContext {
  /** Validate and return the would-be results without changing anything. */
  dryRun: boolean;
  /** Default: `skip_failed`. */
  errorPolicy?: ErrorPolicy;
  /** Run in this transaction and use no other connection. By default the items use transactions of their own. */
  tx?: Transaction | undefined;
}

export interface AppliedItem {
  markingNumber: string;
  outcome: "created" | "updated" | "unchanged";
  /** The job after this item was applied. */
  job: JobRow;
}

export interface FailedItem {
  markingNumber: string;
  outcome: "failed";
  failure: ItemFailure;
}

/** `not_applied`: the item was valid, but another one failed under `all_or_nothing`. */
export type ItemResult = AppliedItem | FailedItem | { markingNumber: string; outcome: "not_applied" };

/** The outcome of one change. `already_exists`: a job with the Marking Number of the new job exists. */
export type BulkOutcome =
  | UpdateOutcome
  | { kind: "created"; job: JobRow; hasDeliveries: boolean }
  | { kind: "already_exists" };

export interface BulkExecutor<Change extends { markingNumber: string }> extends BatchExecutor<
  Change,
  BulkOutcome
> {
  /** True if `apply` runs several statements. */
  needsTransaction: boolean;
}

/** Throws BadRequestException unless there are 1 to 100 items. */
export function assertBulkSize(items: readonly unknown[]): void {
  if (items.length >= 1 && items.length <= MAX_BATCH_ITEMS) return;
  const message = `must be a list of 1 to ${MAX_BATCH_ITEMS} items`;
  throw badRequest([{ location: "body", field: "items", code: "invalid_size", message }]);
}

/** Applies the valid `items` in order, including several with the same Marking Number. */
export async function applyBulk<Change extends { markingNumber: string }>(
  deps: ChangeListeners & { database: Database },
  items: readonly CheckedItem<Change>[],
  { dryRun, errorPolicy = "skip_failed", tx: outer }: BulkOptions,
  executor: BulkExecutor<Change>,
): Promise<ItemResult[]> {
  const changes = items.flatMap((item) => ("change" in item ? [item.change] : []));
  const isRejected = (outcomes: readonly ItemOutcome[]): boolean =>
    errorPolicy === "all_or_nothing" &&
    (changes.length < items.length || outcomes.some((outcome) => !isApplied(outcome)));
  const transactionEnd = (outcomes: readonly ItemOutcome[]): TransactionEnd =>
    dryRun || isRejected(outcomes) ? "rollback" : "commit";

  const apply = (on: Database | Transaction): Promise<ItemOutcome[]> => applyInBatches(on, changes, executor);
  const isIndependent = !dryRun && errorPolicy === "skip_failed";
  const applyAll = (): Promise<ItemOutcome[]> => {
    if (outer) return isIndependent ? apply(outer) : outer.nested(() => apply(outer), transactionEnd);
    if (isIndependent && !executor.needsTransaction) return apply(deps.database);
    return deps.database.transaction(apply, transactionEnd);
  };
  const outcomes = changes.length > 0 ? await applyAll() : [];
  if (transactionEnd(outcomes) === "commit") notifyChanges(deps, outcomes, outer);
  const remaining = outcomes.values();
  const results = items.map(({ markingNumber, ...item }): ItemResult => {
    if ("failure" in item) return { markingNumber, outcome: "failed", failure: item.failure };
    return toItemResult(markingNumber, remaining.next().value as ItemOutcome);
  });
  return isRejected(outcomes) ? results.map(toNotApplied) : results;
}

export type ItemOutcome = BulkOutcome | DataRejected;

function isApplied(outcome: ItemOutcome): outcome is Extract<ItemOutcome, { kind: AppliedItem["outcome"] }> {
  return outcome.kind === "created" || outcome.kind === "updated" || outcome.kind === "unchanged";
}

export function toItemResult(markingNumber: string, applied: ItemOutcome): ItemResult {
  if (isApplied(applied)) return { markingNumber, outcome: applied.kind, job: applied.job };
  const failure =
    applied.kind === "version_mismatch" ? versionMismatch(applied.job) : itemFailures[applied.kind];
  const cause = applied.kind === "rejected" ? { cause: applied.error } : {};
  return { markingNumber, outcome: "failed", failure: { ...failure, ...cause } };
}

function toNotApplied(result: ItemResult): ItemResult {
  return result.outcome === "failed"
    ? result
    : { markingNumber: result.markingNumber, outcome: "not_applied" };
}

function versionMismatch({ version }: JobRow): ItemFailure {
  const message = `The job is at version ${version}, not at the expected one`;
  return { code: "PreconditionFailedException", message, problems: [], currentVersion: version };
}

const itemFailures = {
  not_found: { code: "NotFoundException", message: JOB_NOT_FOUND, problems: [] },
  already_exists: {
    code: "ConflictException",
    message: "A job with this Marking Number already exists",
    problems: [],
  },
  rejected: {
    code: "InternalServerErrorException",
    message: "The database rejected these values",
    problems: [],
  },
} as const satisfies Record<string, ItemFailure>;
