/** Many changes in one call: what the refusal of one means for the others, and what is told of each. */
import type { Database, Transaction, TransactionEnd } from "../platform/database.ts";
import { badRequest, type ErrorCode, type Problem } from "../platform/errors.ts";
import type { ChangeContext } from "../platform/principal.ts";
import { problemsOf } from "../platform/problems.ts";
import type { Sql } from "../platform/sql.ts";
import { applyInRounds, type Refused } from "./job.rounds.ts";
import type { AssignedJobRow } from "./job.row.ts";
import { tell, type Listeners } from "./job.tell.ts";
import type { UpdateOutcome } from "./job.update.ts";
import { markingNumberValue } from "./job.values.ts";

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
  job: AssignedJobRow;
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
  | { kind: "created"; job: AssignedJobRow; announced: boolean }
  | { kind: "taken" };

/** An item once it was looked at, in the order of the call. */
export type CheckedItem<Change> = { markingNumber: string } & ({ change: Change } | { failure: ItemFailure });

export interface BulkParts extends Listeners {
  database: Database;
}

type ApplyRound<Change> = (changes: readonly Change[]) => Promise<BulkOutcome[]>;

/** How changes of jobs that are all different are applied. */
export interface BulkWork<Change> {
  applyIn: (tx: Transaction) => ApplyRound<Change>;
  /** The same as one statement, which is its own transaction; undefined: it takes several. */
  alone?: ApplyRound<Change>;
  /** Which rows of `job` it may lock. */
  lockable: Sql;
}

/** Throws BadRequestException for a call of nothing or of too much. */
export function requireBulkSize(items: readonly unknown[]): void {
  if (items.length >= 1 && items.length <= MAX_ITEMS) return;
  const message = `must be a list of 1 to ${MAX_ITEMS}`;
  throw badRequest([{ location: "body", field: "items", code: "invalid_size", message }]);
}

/** What is wrong with a text that is to select a job: PostgreSQL would choke on some. */
export function markingNumberProblems(markingNumber: string): Problem[] {
  const result = markingNumberValue.safeParse(markingNumber);
  return result.success ? [] : problemsOf(result.error, "body", "markingNumber");
}

/** The item, or why it is refused. `message`: instead of the first problem's. */
export function checkedItem<Change extends { markingNumber: string }>(
  change: Change,
  problems: readonly Problem[],
  message?: string,
): CheckedItem<Change> {
  const { markingNumber } = change;
  const [first] = problems;
  const sentence = message ?? (first && `${first.field} ${first.message}`);
  if (sentence === undefined) return { markingNumber, change };
  return { markingNumber, failure: { code: "BadRequestException", message: sentence, problems } };
}

/** Applies the sound ones of `items` in their order, the same Marking Number as often as it stands there. */
export async function applyBulk<Change extends { markingNumber: string }>(
  parts: BulkParts,
  items: readonly CheckedItem<Change>[],
  work: BulkWork<Change>,
  { dryRun, errorPolicy = "skip_failed", tx: outer }: BulkOptions,
): Promise<ItemResult[]> {
  const changes = items.flatMap((item) => ("change" in item ? [item.change] : []));
  const { lockable } = work;
  const isRefused = (outcomes: readonly Applied[]): boolean =>
    errorPolicy === "all_or_nothing" &&
    (changes.length < items.length || outcomes.some((outcome) => !isApplied(outcome)));
  const endOf = (outcomes: readonly Applied[]): TransactionEnd =>
    dryRun || isRefused(outcomes) ? "rollback" : "commit";

  const applyIn = (tx: Transaction): Promise<Applied[]> =>
    applyInRounds(changes, { apply: work.applyIn(tx), tx, lockable });
  const isIndependent = !dryRun && errorPolicy === "skip_failed";

  let outcomes: Applied[] = [];
  if (changes.length > 0 && outer) {
    outcomes = await (isIndependent ? applyIn(outer) : outer.nested(() => applyIn(outer), endOf));
  } else if (changes.length > 0 && work.alone && isIndependent) {
    outcomes = await applyInRounds(changes, { apply: work.alone, lockable });
  } else if (changes.length > 0) {
    outcomes = await parts.database.transaction(applyIn, endOf);
  }
  if (endOf(outcomes) === "commit") tell(parts, outcomes, outer);
  const pending = outcomes.values();
  const results = items.map(({ markingNumber, ...item }): ItemResult => {
    if ("failure" in item) return { markingNumber, outcome: "failed", failure: item.failure };
    return resultOf(markingNumber, pending.next().value as Applied);
  });
  return isRefused(outcomes) ? results.map(notApplied) : results;
}

type Applied = BulkOutcome | Refused;

function isApplied({ kind }: Applied): boolean {
  return kind === "created" || kind === "updated" || kind === "unchanged";
}

function resultOf(markingNumber: string, applied: Applied): ItemResult {
  if (applied.kind === "created" || applied.kind === "updated" || applied.kind === "unchanged")
    return { markingNumber, outcome: applied.kind, job: applied.job };
  const failure = applied.kind === "version_mismatch" ? versionMismatch(applied.job) : refusals[applied.kind];
  return { markingNumber, outcome: "failed", failure };
}

function notApplied(result: ItemResult): ItemResult {
  return result.outcome === "failed"
    ? result
    : { markingNumber: result.markingNumber, outcome: "not_applied" };
}

function versionMismatch({ version }: AssignedJobRow): ItemFailure {
  const message = `The job is at version ${version}, another than the expected one`;
  return { code: "PreconditionFailedException", message, problems: [] };
}

const refusals = {
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
