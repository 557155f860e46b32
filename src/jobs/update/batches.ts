/** Applies many job changes in few statements and isolates the changes that PostgreSQL rejects. */
import { LockMode } from "@mikro-orm/postgresql";
import { isDataError } from "../../core/postgres/errors.ts";
import type { Database, Reader } from "../../core/postgres/database.ts";
import type { Transaction } from "../../core/postgres/transaction.ts";
import type { Principal } from "../../core/principal.ts";
import { Job } from "../entity.ts";

interface KeyedItem {
  markingNumber: string;
}

export interface BatchExecutor<Item extends KeyedItem, Outcome> {
  /** Applies items with distinct Marking Numbers. Locks the jobs in id order. */
  apply: (on: Database | Transaction, items: readonly Item[]) => Promise<Outcome[]>;
  /** `apply` may lock the jobs that this principal can see; null if it locks no existing job. */
  lockingAs: Principal | null;
}

/** PostgreSQL rejected the values of this change, for example by a constraint that the operator added. */
export interface DataRejected {
  kind: "rejected";
  /** PostgreSQL's error. Show it to operators only. */
  error: Error;
}

/**
 * Applies `items` in batches without duplicate Marking Numbers: the first item of each number, then the second, and so on. On
 * the database, each batch commits on its own. Returns the outcomes in the order of `items`.
 */
export async function applyInBatches<Item extends KeyedItem, Outcome>(
  on: Database | Transaction,
  items: readonly Item[],
  executor: BatchExecutor<Item, Outcome>,
): Promise<(Outcome | DataRejected)[]> {
  const outcomes = new Map<Item, Outcome | DataRejected>();
  for (const batch of splitIntoBatches(items)) {
    for (const [item, outcome] of await applyBatch(on, batch, executor)) outcomes.set(item, outcome);
  }
  return items.map((item) => outcomes.get(item) as Outcome | DataRejected);
}

function splitIntoBatches<Item extends KeyedItem>(items: readonly Item[]): Item[][] {
  const occurrences = new Map<string, number>();
  const batches: Item[][] = [];
  for (const item of items) {
    const index = occurrences.get(item.markingNumber) ?? 0;
    occurrences.set(item.markingNumber, index + 1);
    (batches[index] ??= []).push(item);
  }
  return batches;
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
    const applied: BatchOutcomes<Item, Outcome> = [];
    const middle = part.length >> 1;
    for (const half of [part.slice(0, middle), part.slice(middle)]) {
      applied.push(...((await attempt(half)) ?? (await bisect(half))));
    }
    return applied;
  };

  const whole = await attempt(batch);
  if (whole) return whole;
  // The transaction keeps the locks of every part. To avoid deadlocks it takes them in the order of a single statement:
  // existing rows by id, then new rows by Marking Number.
  if (tx && lockingAs) await lockJobs(tx, batch, lockingAs);
  return await bisect(batch.toSorted(compareMarkingNumbers));
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

/** Byte order of the UTF-8 text, like PostgreSQL's collation "C". */
function compareMarkingNumbers(one: KeyedItem, other: KeyedItem): number {
  return Buffer.compare(Buffer.from(one.markingNumber), Buffer.from(other.markingNumber));
}
