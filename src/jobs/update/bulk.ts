/** Applies up to 100 job changes per call with an error policy, and returns a result for each. */
import type { Database, Transaction, TransactionEnd } from "../../platform/postgres/database.ts";
import { badRequest, type ErrorCode, type Problem } from "../../platform/errors.ts";
import type { ChangeContext } from "../../platform/principal.ts";
import { toProblems } from "../../platform/zod-problems.ts";
import type { Sql } from "../../platform/postgres/sql.ts";
import { applyInBatches, type DataRejected } from "./batches.ts";
import type { JobRowWithOwners } from "../job.row.ts";
import { notifyChanges, type ChangeListeners } from "./notify.ts";
import type { UpdateOutcome } from "./update.sql.ts";
import { markingNumberValue } from "../job.values.ts";

export const JOB_NOT_FOUND = "Delivery job not found";
const MAX_ITEMS = 100;

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

export interface ItemFailure {
  code: ErrorCode;
  message: string;
  problems: readonly Problem[];
}

export interface AppliedItem {
  markingNumber: string;
  outcome: "created" | "updated" | "unchanged";
  /** The job after this item was applied. */
  job: JobRowWithOwners;
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
  | { kind: "created"; job: JobRowWithOwners; hasDeliveries: boolean }
  | { kind: "already_exists" };

/** A validated item: the change to apply, or why it failed. */
export type CheckedItem<Change> = { markingNumber: string } & ({ change: Change } | { failure: ItemFailure });

export interface BulkDeps extends ChangeListeners {
  database: Database;
}

type ApplyBatch<Change> = (changes: readonly Change[]) => Promise<BulkOutcome[]>;

/** Applies changes with distinct Marking Numbers. */
export interface BulkExecutor<Change> {
  inTransaction: (tx: Transaction) => ApplyBatch<Change>;
  /** Applies them in one statement without a surrounding transaction; undefined if one statement is not enough. */
  autocommit?: ApplyBatch<Change>;
  /** SQL condition for the rows of `job` that it may lock. */
  lockFilter: Sql;
}

/** Throws BadRequestException unless there are 1 to 100 items. */
export function assertBulkSize(items: readonly unknown[]): void {
  if (items.length >= 1 && items.length <= MAX_ITEMS) return;
  const message = `must be a list of 1 to ${MAX_ITEMS} items`;
  throw badRequest([{ location: "body", field: "items", code: "invalid_size", message }]);
}

/** Problems of a Marking Number: its length, or characters that PostgreSQL cannot read. */
export function markingNumberProblems(markingNumber: string): Problem[] {
  const result = markingNumberValue.safeParse(markingNumber);
  return result.success ? [] : toProblems(result.error, "body", "markingNumber");
}

/** A failed item if there are problems, else the change. `message` replaces the text of the first problem. */
export function checkedItem<Change extends { markingNumber: string }>(
  change: Change,
  problems: readonly Problem[],
  message?: string,
): CheckedItem<Change> {
  const { markingNumber } = change;
  const [first] = problems;
  const summary = message ?? (first && `${first.field} ${first.message}`);
  if (summary === undefined) return { markingNumber, change };
  return { markingNumber, failure: { code: "BadRequestException", message: summary, problems } };
}

/** Applies the valid `items` in order, including several with the same Marking Number. */
export async function applyBulk<Change extends { markingNumber: string }>(
  deps: BulkDeps,
  items: readonly CheckedItem<Change>[],
  executor: BulkExecutor<Change>,
  { dryRun, errorPolicy = "skip_failed", tx: outer }: BulkOptions,
): Promise<ItemResult[]> {
  const changes = items.flatMap((item) => ("change" in item ? [item.change] : []));
  const { lockFilter } = executor;
  const isRejected = (outcomes: readonly ItemOutcome[]): boolean =>
    errorPolicy === "all_or_nothing" &&
    (changes.length < items.length || outcomes.some((outcome) => !isApplied(outcome)));
  const transactionEnd = (outcomes: readonly ItemOutcome[]): TransactionEnd =>
    dryRun || isRejected(outcomes) ? "rollback" : "commit";

  const applyInTransaction = (tx: Transaction): Promise<ItemOutcome[]> =>
    applyInBatches(changes, { apply: executor.inTransaction(tx), tx, lockFilter });
  const isIndependent = !dryRun && errorPolicy === "skip_failed";

  let outcomes: ItemOutcome[] = [];
  if (changes.length > 0 && outer) {
    outcomes = await (isIndependent
      ? applyInTransaction(outer)
      : outer.nested(() => applyInTransaction(outer), transactionEnd));
  } else if (changes.length > 0 && executor.autocommit && isIndependent) {
    outcomes = await applyInBatches(changes, { apply: executor.autocommit, lockFilter });
  } else if (changes.length > 0) {
    outcomes = await deps.database.transaction(applyInTransaction, transactionEnd);
  }
  if (transactionEnd(outcomes) === "commit") notifyChanges(deps, outcomes, outer);
  const remaining = outcomes.values();
  const results = items.map(({ markingNumber, ...item }): ItemResult => {
    if ("failure" in item) return { markingNumber, outcome: "failed", failure: item.failure };
    return toItemResult(markingNumber, remaining.next().value as ItemOutcome);
  });
  return isRejected(outcomes) ? results.map(toNotApplied) : results;
}

type ItemOutcome = BulkOutcome | DataRejected;

function isApplied({ kind }: ItemOutcome): boolean {
  return kind === "created" || kind === "updated" || kind === "unchanged";
}

function toItemResult(markingNumber: string, applied: ItemOutcome): ItemResult {
  if (applied.kind === "created" || applied.kind === "updated" || applied.kind === "unchanged")
    return { markingNumber, outcome: applied.kind, job: applied.job };
  const failure =
    applied.kind === "version_mismatch" ? versionMismatch(applied.job) : itemErrors[applied.kind];
  return { markingNumber, outcome: "failed", failure };
}

function toNotApplied(result: ItemResult): ItemResult {
  return result.outcome === "failed"
    ? result
    : { markingNumber: result.markingNumber, outcome: "not_applied" };
}

function versionMismatch({ version }: JobRowWithOwners): ItemFailure {
  const message = `The job is at version ${version}, not at the expected one`;
  return { code: "PreconditionFailedException", message, problems: [] };
}

const itemErrors = {
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
