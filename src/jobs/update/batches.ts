/** Applies many job changes in few statements and isolates the changes that PostgreSQL rejects. */
import { isDataError } from "../../platform/postgres/errors.ts";
import type { Transaction } from "../../platform/postgres/database.ts";
import { sql, type Sql } from "../../platform/postgres/sql.ts";

interface KeyedItem {
  markingNumber: string;
}

export interface BatchApplication<Item extends KeyedItem, Outcome> {
  /** Applies items with distinct Marking Numbers in one statement, which locks the jobs in id order. */
  apply: (items: readonly Item[]) => Promise<Outcome[]>;
  /** The transaction to run in; undefined: each statement commits on its own. */
  tx?: Transaction | undefined;
  /** SQL condition for the rows of `job` that `apply` may lock. */
  lockFilter: Sql;
}

/** PostgreSQL rejected the values of this change, for example by a constraint that the operator added. */
export interface DataRejected {
  kind: "rejected";
  /** PostgreSQL's message. Show it to operators only. */
  reason: string;
}

/**
 * Applies `items` in batches without duplicate Marking Numbers: the first item of each number, then the second, and so on.
 * Returns the outcomes in the order of `items`.
 */
export async function applyInBatches<Item extends KeyedItem, Outcome>(
  items: readonly Item[],
  application: BatchApplication<Item, Outcome>,
): Promise<(Outcome | DataRejected)[]> {
  const outcomes = new Map<Item, Outcome | DataRejected>();
  for (const batch of splitIntoBatches(items)) {
    for (const [item, outcome] of await applyBatch(batch, application)) outcomes.set(item, outcome);
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
  batch: readonly Item[],
  { apply, tx, lockFilter }: BatchApplication<Item, Outcome>,
): Promise<BatchOutcomes<Item, Outcome>> {
  /** Returns null if PostgreSQL rejected one of several changes. */
  const attempt = async (part: readonly Item[]): Promise<BatchOutcomes<Item, Outcome> | null> => {
    try {
      const outcomes = await (tx ? tx.nested(() => apply(part)) : apply(part));
      return part.map((item, index) => [item, outcomes[index] as Outcome]);
    } catch (error) {
      if (!isDataError(error)) throw error;
      const reason = (error as Error).message;
      return part.length === 1 ? part.map((item) => [item, { kind: "rejected", reason }]) : null;
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
  if (tx) await lockJobs(tx, batch, lockFilter);
  return await bisect(batch.toSorted(compareMarkingNumbers));
}

async function lockJobs(tx: Transaction, items: readonly KeyedItem[], lockFilter: Sql): Promise<void> {
  await tx.query(sql`
    select 1 from job where marking_number = any(${items.map((item) => item.markingNumber)}::text[]) and ${lockFilter}
    order by job.id for update`);
}

/** Byte order of the UTF-8 text, like PostgreSQL's collation "C". */
function compareMarkingNumbers(one: KeyedItem, other: KeyedItem): number {
  return Buffer.compare(Buffer.from(one.markingNumber), Buffer.from(other.markingNumber));
}
