/** Applies many job changes in few statements with an error policy, returns a result for each, and notifies of the changes. */
import { LockMode } from "@mikro-orm/postgresql";
import { badRequest } from "../../core/errors.ts";
import { isDataError } from "../../core/postgres/errors.ts";
import type { Database, Queryable, Reader } from "../../core/postgres/database.ts";
import type { Transaction, TransactionEnd } from "../../core/postgres/transaction.ts";
import type { ChangeContext, Principal } from "../../core/principal.ts";
import { Job } from "../entity.ts";
import { findJobsByMarkingNumber } from "../list/find.sql.ts";
import type { JobRow } from "../row.sql.ts";
import type { UpdateOutcome } from "./update-and-fan-out.sql.ts";
import type { CheckedItem, ItemFailure } from "./validate-patch.ts";

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

/** `not_applied`: the item was valid, but another one failed under `all_or_nothing`. `job` is as the item left it. */
export type ItemResult = { markingNumber: string } & (
  | { outcome: "created" | "updated" | "unchanged"; job: JobRow }
  | { outcome: "failed"; failure: ItemFailure }
  | { outcome: "not_applied" }
);

/** The outcome of one change. `already_exists`: a job with the Marking Number of the new job exists. */
export type BulkOutcome =
  | UpdateOutcome
  | { kind: "created"; job: JobRow; hasDeliveries: boolean }
  | { kind: "updated"; job: JobRow; hasDeliveries: boolean; formerContractorId: string | null }
  | { kind: "already_exists" };

/** PostgreSQL rejected the values of a change, for example by a constraint that the operator added. Show `error` to operators only. */
export interface DataRejected {
  kind: "rejected";
  error: Error;
}

export type ItemOutcome = BulkOutcome | DataRejected;

interface KeyedItem {
  markingNumber: string;
}

interface BatchExecutor<Item extends KeyedItem, Outcome> {
  /** Applies items with distinct Marking Numbers. Locks the jobs in id order. */
  apply: (on: Database | Transaction, items: readonly Item[]) => Promise<Outcome[]>;
  /** `apply` may lock the jobs that this principal can see; null if it locks no existing job. */
  lockingAs: Principal | null;
}

interface BulkExecutor<Change extends KeyedItem> extends BatchExecutor<Change, BulkOutcome> {
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
export async function applyBulk<Change extends KeyedItem>(
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
  const undone = isRejected(outcomes) ? outcomes : [];
  const versions = await versionsBefore(outer ?? deps.database, changes, undone, executor.lockingAs);
  const remaining = outcomes.values();
  const results = items.map(({ markingNumber, ...item }): ItemResult => {
    if ("failure" in item) return { markingNumber, outcome: "failed", failure: item.failure };
    return toItemResult(markingNumber, remaining.next().value as ItemOutcome, versions.get(markingNumber));
  });
  return isRejected(outcomes) ? results.map(toNotApplied) : results;
}

/** Returns the versions of the jobs that one item changed and another expected at another version, after the rollback of both. */
async function versionsBefore(
  on: Queryable,
  changes: readonly KeyedItem[],
  undone: readonly ItemOutcome[],
  principal: Principal | null,
): Promise<Map<string, number>> {
  const numbersOf = (kind: ItemOutcome["kind"]): string[] =>
    changes.filter((_, index) => undone[index]?.kind === kind).map(({ markingNumber }) => markingNumber);
  const updated = new Set(numbersOf("updated"));
  const numbers = numbersOf("version_mismatch").filter((number) => updated.has(number));
  const jobs = principal ? await findJobsByMarkingNumber(on, principal, numbers) : [];
  return new Map(jobs.flatMap((job) => (job ? [[job.marking_number, job.version] as const] : [])));
}

function isApplied(
  outcome: ItemOutcome,
): outcome is Extract<ItemOutcome, { kind: "created" | "updated" | "unchanged" }> {
  return outcome.kind === "created" || outcome.kind === "updated" || outcome.kind === "unchanged";
}

/** `version`: that of the job, if the one of its row was rolled back. */
export function toItemResult(markingNumber: string, applied: ItemOutcome, version?: number): ItemResult {
  if (isApplied(applied)) return { markingNumber, outcome: applied.kind, job: applied.job };
  const failure =
    applied.kind === "version_mismatch" ? versionMismatch(applied.job, version) : itemFailures[applied.kind];
  return { markingNumber, outcome: "failed", failure };
}

function toNotApplied(result: ItemResult): ItemResult {
  return result.outcome === "failed"
    ? result
    : { markingNumber: result.markingNumber, outcome: "not_applied" };
}

function versionMismatch(job: JobRow, version = job.version): ItemFailure {
  const isRolledBack = version !== job.version;
  const reason = isRolledBack ? "and an earlier item of this request changes it" : "not at the expected one";
  const message = `The job is at version ${version}, ${reason}`;
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

/**
 * Applies `items` in batches without duplicate Marking Numbers: the first item of each number, then the second, and so on. On
 * the database, each batch commits on its own. Returns the outcomes in the order of `items`.
 */
export async function applyInBatches<Item extends KeyedItem, Outcome>(
  on: Database | Transaction,
  items: readonly Item[],
  executor: BatchExecutor<Item, Outcome>,
): Promise<(Outcome | DataRejected)[]> {
  const batches: Item[][] = [];
  for (const group of Map.groupBy(items, (item) => item.markingNumber).values())
    for (const [index, item] of group.entries()) (batches[index] ??= []).push(item);
  const outcomes = new Map<Item, Outcome | DataRejected>();
  for (const batch of batches)
    for (const [item, outcome] of await applyBatch(on, batch, executor)) outcomes.set(item, outcome);
  return items.map((item) => outcomes.get(item) as Outcome | DataRejected);
}

type BatchOutcomes<Item, Outcome> = [Item, Outcome | DataRejected][];

/** Applies the batch in one statement. If PostgreSQL rejects it, bisects it until each rejected change is isolated. */
async function applyBatch<Item extends KeyedItem, Outcome>(
  on: Database | Transaction,
  batch: readonly Item[],
  { apply, lockingAs }: BatchExecutor<Item, Outcome>,
): Promise<BatchOutcomes<Item, Outcome>> {
  const tx = "nested" in on ? on : null;
  /** Returns null if PostgreSQL rejected one of several changes. */
  const attempt = async (part: readonly Item[]): Promise<BatchOutcomes<Item, Outcome> | null> => {
    try {
      const outcomes = await (tx ? tx.nested(() => apply(tx, part)) : apply(on, part));
      return part.map((item, index) => [item, outcomes[index] as Outcome]);
    } catch (error) {
      if (!isDataError(error)) throw error;
      const rejected: DataRejected = { kind: "rejected", error: error as Error };
      return part.length === 1 ? part.map((item) => [item, rejected]) : null;
    }
  };
  const bisect = async (part: readonly Item[]): Promise<BatchOutcomes<Item, Outcome>> => {
    const middle = part.length >> 1;
    return (
      (await attempt(part)) ?? [
        ...(await bisect(part.slice(0, middle))),
        ...(await bisect(part.slice(middle))),
      ]
    );
  };
  const whole = await attempt(batch);
  if (whole) return whole;
  // The transaction keeps the locks of every part. To avoid deadlocks it takes them in the order of a single statement:
  // existing rows by id, then new rows by Marking Number in the byte order of UTF-8 (collation "C").
  if (tx && lockingAs) await lockJobs(tx, batch, lockingAs);
  const bytesOf = ({ markingNumber }: Item): Buffer => Buffer.from(markingNumber);
  return await bisect(batch.toSorted((one, other) => Buffer.compare(bytesOf(one), bytesOf(other))));
}

/** Locks the jobs that `principal` can see, in id order. Returns their Marking Numbers. */
export async function lockJobs(
  reader: Reader,
  items: readonly KeyedItem[],
  principal: Principal,
): Promise<Set<string>> {
  const markingNumbers = items.map((item) => item.markingNumber);
  const jobs = await reader.em().find(
    Job,
    { marking_number: { $in: markingNumbers } },
    {
      fields: ["marking_number"],
      filters: { visibleTo: { principal } },
      orderBy: { id: "asc" },
      lockMode: LockMode.PESSIMISTIC_WRITE,
      disableIdentityMap: true,
    },
  );
  return new Set(jobs.map((job) => job.marking_number));
}

export interface ChangeListeners {
  /** Called after a commit that created webhook deliveries. */
  notifyWorkers: () => void;
  /** Called after a commit with the distinct ids (UUIDs) of the organisations that can see the changes. */
  notifySubscribers: (organizationIds: readonly string[]) => void;
}

interface ChangeOutcome {
  readonly kind: string;
  readonly job?: Pick<JobRow, "agent_id" | "contractor_id">;
  readonly hasDeliveries?: boolean;
  readonly formerContractorId?: string | null;
}

/**
 * Notifies of created and updated jobs. Call it after the commit, or with the transaction `tx` to run after its commit. Never call
 * it for a rolled-back change.
 */
export function notifyChanges(
  listeners: ChangeListeners,
  outcomes: readonly ChangeOutcome[],
  tx?: Transaction,
): void {
  if (tx) return tx.afterCommit(() => notifyChanges(listeners, outcomes));
  const organizationIds = new Set<string>();
  let hasNewDeliveries = false;
  for (const { kind, job, hasDeliveries = false, formerContractorId = null } of outcomes) {
    if (!job || (kind !== "created" && kind !== "updated")) continue;
    hasNewDeliveries ||= hasDeliveries;
    organizationIds.add(job.agent_id);
    if (job.contractor_id !== null) organizationIds.add(job.contractor_id);
    if (formerContractorId !== null) organizationIds.add(formerContractorId);
  }
  if (hasNewDeliveries) listeners.notifyWorkers();
  if (organizationIds.size > 0) listeners.notifySubscribers([...organizationIds]);
}
