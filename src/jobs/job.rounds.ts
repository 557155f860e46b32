/** Many changes in few statements: none meets a job twice, and what PostgreSQL itself refuses fails alone. */
import { isRefusedData } from "../platform/database-errors.ts";
import type { Transaction } from "../platform/database.ts";
import { sql, type Sql } from "../platform/sql.ts";

interface Change {
  markingNumber: string;
}

export interface Rounds<Item extends Change, Outcome> {
  /** One statement for jobs that are all different; it locks their rows in the order of their ids. */
  apply: (items: readonly Item[]) => Promise<Outcome[]>;
  /** The transaction that the statements are part of; undefined: each is its own. */
  tx?: Transaction | undefined;
  /** Which rows of `job` the statements may lock. */
  lockable: Sql;
}

/** PostgreSQL refused the values of this one change (a rule of the operator's own, say). */
export interface Refused {
  kind: "refused";
  /** PostgreSQL's words: for operators, never for partners. */
  reason: string;
}

/**
 * Applies `items` in rounds without repetition, the first of each Marking Number, then the second, and so on, and answers
 * with the outcomes in the order of `items`.
 */
export async function applyInRounds<Item extends Change, Outcome>(
  items: readonly Item[],
  rounds: Rounds<Item, Outcome>,
): Promise<(Outcome | Refused)[]> {
  const outcomes = new Map<Item, Outcome | Refused>();
  for (const round of withoutRepetition(items)) {
    for (const [item, outcome] of await applyRound(round, rounds)) outcomes.set(item, outcome);
  }
  return items.map((item) => outcomes.get(item) as Outcome | Refused);
}

function withoutRepetition<Item extends Change>(items: readonly Item[]): Item[][] {
  const seen = new Map<string, number>();
  const rounds: Item[][] = [];
  for (const item of items) {
    const round = seen.get(item.markingNumber) ?? 0;
    seen.set(item.markingNumber, round + 1);
    (rounds[round] ??= []).push(item);
  }
  return rounds;
}

type Applied<Item, Outcome> = [Item, Outcome | Refused][];

/** One statement for the round, as a rule; one that is refused is halved until each refused change is by itself. */
async function applyRound<Item extends Change, Outcome>(
  round: readonly Item[],
  { apply, tx, lockable }: Rounds<Item, Outcome>,
): Promise<Applied<Item, Outcome>> {
  /** Null: refused, and not known for which change. */
  const attempt = async (part: readonly Item[]): Promise<Applied<Item, Outcome> | null> => {
    try {
      const outcomes = await (tx ? tx.nested(() => apply(part)) : apply(part));
      return part.map((item, at) => [item, outcomes[at] as Outcome]);
    } catch (error) {
      if (!isRefusedData(error)) throw error;
      const reason = (error as Error).message;
      return part.length === 1 ? part.map((item) => [item, { kind: "refused", reason }]) : null;
    }
  };
  const applyHalves = async (part: readonly Item[]): Promise<Applied<Item, Outcome>> => {
    const applied: Applied<Item, Outcome> = [];
    const middle = part.length >> 1;
    for (const half of [part.slice(0, middle), part.slice(middle)]) {
      applied.push(...((await attempt(half)) ?? (await applyHalves(half))));
    }
    return applied;
  };

  const whole = await attempt(round);
  if (whole) return whole;
  // One transaction keeps the locks of all its parts, so it must take them in the order that one statement would: rows that
  // are there by their ids, then new ones by their Marking Numbers. Else it and another statement may wait for each other.
  if (tx) await lockJobs(tx, round, lockable);
  return await applyHalves(round.toSorted(byMarkingNumber));
}

async function lockJobs(tx: Transaction, items: readonly Change[], lockable: Sql): Promise<void> {
  await tx.query(sql`
    select 1 from job where marking_number = any(${items.map((item) => item.markingNumber)}::text[]) and ${lockable}
    order by job.id for update`);
}

/** By their bytes in UTF-8, as PostgreSQL's collation "C" has it. */
function byMarkingNumber(one: Change, other: Change): number {
  return Buffer.compare(Buffer.from(one.markingNumber), Buffer.from(other.markingNumber));
}
