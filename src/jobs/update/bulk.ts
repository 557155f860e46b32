/** Many changes in one call: what the refusal of one means for the others, and what is told of each. */
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
/** Items of one call. */
const MAX_ITEMS = 100;

/** `skip_failed`: each item stands alone. `all_or_nothing`: all are applied, or none. */
export type ErrorPolicy = "skip_failed" | "all_or_nothing";

export interface BulkOptions extends ChangeContext {
  /** Validate and answer as if done, and change nothing. */
  dryRun: boolean;
  /** `skip_failed` unless said. */
  errorPolicy?: ErrorPolicy;
  /** Apply the items in this transaction, with no other connection; by default in one or more transactions. */
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
  /** The job as this item left it. */
  job: JobRowWithOwners;
}

export interface FailedItem {
  markingNumber: string;
  outcome: "failed";
  failure: ItemFailure;
}

/** `not_applied`: it was sound, and another was refused under `all_or_nothing`. */
export type ItemResult = AppliedItem | FailedItem | { markingNumber: string; outcome: "not_applied" };

/** What became of a change of rows. `taken`: a job that is to be made is there already. */
export type BulkOutcome =
  | UpdateOutcome
  | { kind: "created"; job: JobRowWithOwners; hasDeliveries: boolean }
  | { kind: "taken" };

/** An item once it was looked at, in the order of the call. */
export type CheckedItem<Change> = { markingNumber: string } & ({ change: Change } | { failure: ItemFailure });

export interface BulkDeps extends ChangeListeners {
  database: Database;
}

type ApplyBatch<Change> = (changes: readonly Change[]) => Promise<BulkOutcome[]>;

/** How changes of jobs that are all different are applied. */
export interface BulkExecutor<Change> {
  inTransaction: (tx: Transaction) => ApplyBatch<Change>;
  /** The same as one statement, which is its own transaction; undefined: it takes several. */
  autocommit?: ApplyBatch<Change>;
  /** Which rows of `job` it may lock. */
  lockFilter: Sql;
}

/** Throws BadRequestException for a call of nothing or of too much. */
export function assertBulkSize(items: readonly unknown[]): void {
  if (items.length >= 1 && items.length <= MAX_ITEMS) return;
  const message = `must be a list of 1 to ${MAX_ITEMS}`;
  throw badRequest([{ location: "body", field: "items", code: "invalid_size", message }]);
}

/** What is wrong with a text that is to select a job: PostgreSQL would choke on some. */
export function markingNumberProblems(markingNumber: string): Problem[] {
  const result = markingNumberValue.safeParse(markingNumber);
  return result.success ? [] : toProblems(result.error, "body", "markingNumber");
}

/** The item, or why it is refused. `message`: instead of the first problem's. */
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

/** Applies the sound ones of `items` in their order, the same Marking Number as often as it stands there. */
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
  const message = `The job is at version ${version}, another than the expected one`;
  return { code: "PreconditionFailedException", message, problems: [] };
}

const itemErrors = {
  not_found: { code: "NotFoundException", message: JOB_NOT_FOUND, problems: [] },
  taken: {
    code: "ConflictException",
    message: "There is a job with this Marking Number already",
    problems: [],
  },
  refused: {
    code: "InternalServerErrorException",
    message: "The database refused these values",
    problems: [],
  },
} as const satisfies Record<string, ItemFailure>;
