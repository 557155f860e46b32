/** Many changes in few statements: none meets a job twice, and what PostgreSQL itself refuses fails alone. */
import { isDataError } from "../../platform/postgres/errors.ts";
import type { Transaction } from "../../platform/postgres/database.ts";
import { sql, type Sql } from "../../platform/postgres/sql.ts";

interface KeyedItem {
  markingNumber: string;
}

export interface BatchApplication<Item extends KeyedItem, Outcome> {
  /** One statement for jobs that are all different; it locks their rows in the order of their ids. */
  apply: (items: readonly Item[]) => Promise<Outcome[]>;
  /** The transaction that the statements are part of; undefined: each is its own. */
  tx?: Transaction | undefined;
  /** Which rows of `job` the statements may lock. */
  lockFilter: Sql;
}

/** PostgreSQL refused the values of this one change (a rule of the operator's own, say). */
export interface DataRejected {
  kind: "refused";
  /** PostgreSQL's words: for operators, never for partners. */
  reason: string;
}

/**
 * Applies `items` in rounds without repetition, the first of each Marking Number, then the second, and so on, and answers
 * with the outcomes in the order of `items`.
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
  const seen = new Map<string, number>();
  const batches: Item[][] = [];
  for (const item of items) {
    const index = seen.get(item.markingNumber) ?? 0;
    seen.set(item.markingNumber, index + 1);
    (batches[index] ??= []).push(item);
  }
  return batches;
}

type BatchOutcomes<Item, Outcome> = [Item, Outcome | DataRejected][];

/** One statement for the round, as a rule; one that is refused is halved until each refused change is by itself. */
async function applyBatch<Item extends KeyedItem, Outcome>(
  batch: readonly Item[],
  { apply, tx, lockFilter }: BatchApplication<Item, Outcome>,
): Promise<BatchOutcomes<Item, Outcome>> {
  /** Null: refused, and not known for which change. */
  const attempt = async (part: readonly Item[]): Promise<BatchOutcomes<Item, Outcome> | null> => {
    try {
      const outcomes = await (tx ? tx.nested(() => apply(part)) : apply(part));
      return part.map((item, index) => [item, outcomes[index] as Outcome]);
    } catch (error) {
      if (!isDataError(error)) throw error;
      const reason = (error as Error).message;
      return part.length === 1 ? part.map((item) => [item, { kind: "refused", reason }]) : null;
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
  // One transaction keeps the locks of all its parts, so it must take them in the order that one statement would: rows that
  // are there by their ids, then new ones by their Marking Numbers. Else it and another statement may wait for each other.
  if (tx) await lockJobs(tx, batch, lockFilter);
  return await bisect(batch.toSorted(compareMarkingNumbers));
}

async function lockJobs(tx: Transaction, items: readonly KeyedItem[], lockFilter: Sql): Promise<void> {
  await tx.query(sql`
    select 1 from job where marking_number = any(${items.map((item) => item.markingNumber)}::text[]) and ${lockFilter}
    order by job.id for update`);
}

/** By their bytes in UTF-8, as PostgreSQL's collation "C" has it. */
function compareMarkingNumbers(one: KeyedItem, other: KeyedItem): number {
  return Buffer.compare(Buffer.from(one.markingNumber), Buffer.from(other.markingNumber));
}
