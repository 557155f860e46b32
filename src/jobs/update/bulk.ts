/** Applies many job changes in few statements with an error policy, returns a result for each, and notifies of the changes. */
import type { Database } from "../../core/postgres/database.ts";
import type { Transaction, TransactionEnd } from "../../core/postgres/transaction.ts";
import type { ChangeContext } from "../../core/principal.ts";
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
  | { kind: "created"; job: JobRow }
  | { kind: "updated"; job: JobRow; formerContractorId: string | null }
  | { kind: "already_exists" };

interface KeyedItem {
  markingNumber: string;
}

/** Applies items with distinct Marking Numbers, and locks existing jobs in id order. Returns the outcomes in the order of the items. */
type ApplyBatch<Item extends KeyedItem, Outcome> = (
  on: Database | Transaction,
  items: readonly Item[],
) => Promise<Outcome[]>;

interface BulkExecutor<Change extends KeyedItem> {
  apply: ApplyBatch<Change, BulkOutcome>;
  /** True if `apply` runs several statements. */
  needsTransaction: boolean;
}

/** Applies the valid `items` in order, including several with the same Marking Number. */
export async function applyBulk<Change extends KeyedItem>(
  deps: ChangeListeners & { database: Database },
  items: readonly CheckedItem<Change>[],
  { dryRun, errorPolicy = "skip_failed", tx: outer }: BulkOptions,
  { apply: applyBatch, needsTransaction }: BulkExecutor<Change>,
): Promise<ItemResult[]> {
  const changes = items.flatMap((item) => ("change" in item ? [item.change] : []));
  const isRejected = (outcomes: readonly BulkOutcome[]): boolean =>
    errorPolicy === "all_or_nothing" &&
    (changes.length < items.length || outcomes.some((outcome) => !isApplied(outcome)));
  const transactionEnd = (outcomes: readonly BulkOutcome[]): TransactionEnd =>
    dryRun || isRejected(outcomes) ? "rollback" : "commit";

  const apply = (on: Database | Transaction) => applyInBatches(on, changes, applyBatch);
  const isIndependent = !dryRun && errorPolicy === "skip_failed";
  const applyAll = (): Promise<BulkOutcome[]> => {
    if (outer) return isIndependent ? apply(outer) : outer.nested(() => apply(outer), transactionEnd);
    if (isIndependent && !needsTransaction) return apply(deps.database);
    return deps.database.transaction(apply, transactionEnd);
  };
  const outcomes = changes.length > 0 ? await applyAll() : [];
  if (transactionEnd(outcomes) === "commit") notifyChanges(deps, outcomes, outer);
  const remaining = outcomes.values();
  const results = items.map(({ markingNumber, ...item }): ItemResult => {
    if ("failure" in item) return { markingNumber, outcome: "failed", failure: item.failure };
    return toItemResult(markingNumber, remaining.next().value as BulkOutcome);
  });
  return isRejected(outcomes) ? results.map((result) => toUndone(result, results)) : results;
}

function isApplied(
  outcome: BulkOutcome,
): outcome is Extract<BulkOutcome, { kind: "created" | "updated" | "unchanged" }> {
  return outcome.kind === "created" || outcome.kind === "updated" || outcome.kind === "unchanged";
}

function toItemResult(markingNumber: string, applied: BulkOutcome): ItemResult {
  if (isApplied(applied)) return { markingNumber, outcome: applied.kind, job: applied.job };
  const failure =
    applied.kind === "version_mismatch" ? versionMismatch(applied.job.version) : itemFailures[applied.kind];
  return { markingNumber, outcome: "failed", failure };
}

/** The result after the rollback of all `results`. */
function toUndone(result: ItemResult, results: readonly ItemResult[]): ItemResult {
  const { markingNumber } = result;
  if (result.outcome !== "failed") return { markingNumber, outcome: "not_applied" };
  const { currentVersion = 0 } = result.failure;
  const sameJob = results.filter((other) => other.markingNumber === markingNumber);
  const undone = sameJob.find(({ outcome }) => outcome === "updated");
  // A lower version is that of the job: only later items change it.
  if (undone?.outcome !== "updated" || currentVersion < undone.job.version) return result;
  // The version before. The first change after a restore skips some, which do not exist.
  const version = undone.job.version - 1;
  return { ...result, failure: versionMismatch(version, "and an earlier item of this request changes it") };
}

function versionMismatch(version: number, reason = "not at the expected one"): ItemFailure {
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
} as const satisfies Record<string, ItemFailure>;

/**
 * Applies `items` in batches without duplicate Marking Numbers: the first item of each number, then the second, and so on. On
 * the database, each batch commits on its own. Returns the outcomes in the order of `items`.
 */
export async function applyInBatches<Item extends KeyedItem, Outcome>(
  on: Database | Transaction,
  items: readonly Item[],
  apply: ApplyBatch<Item, Outcome>,
): Promise<Outcome[]> {
  const batches: Item[][] = [];
  for (const group of Map.groupBy(items, (item) => item.markingNumber).values())
    for (const [index, item] of group.entries()) (batches[index] ??= []).push(item);
  const outcomes = new Map<Item, Outcome>();
  for (const batch of batches) {
    const applied = await apply(on, batch);
    for (const [index, item] of batch.entries()) outcomes.set(item, applied[index] as Outcome);
  }
  return items.map((item) => outcomes.get(item) as Outcome);
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
  /** Absent: not known. */
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
  for (const { kind, job, hasDeliveries = true, formerContractorId = null } of outcomes) {
    if (!job || (kind !== "created" && kind !== "updated")) continue;
    hasNewDeliveries ||= hasDeliveries;
    organizationIds.add(job.agent_id);
    if (job.contractor_id !== null) organizationIds.add(job.contractor_id);
    if (formerContractorId !== null) organizationIds.add(formerContractorId);
  }
  if (hasNewDeliveries) listeners.notifyWorkers();
  if (organizationIds.size > 0) listeners.notifySubscribers([...organizationIds]);
}
