/** Statements that change each job at most once, made of changes that may name a job twice. */

/**
 * Runs `apply` on `items` in rounds without repetition, the first of each Marking Number, then the second, and so on, and
 * answers with the outcomes in the order of `items`.
 */
export async function applyInRounds<Item extends { markingNumber: string }, Outcome>(
  items: readonly Item[],
  apply: (round: Item[]) => Promise<Outcome[]>,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = Array.from({ length: items.length });
  for (const places of roundsOf(items)) {
    const applied = await apply(places.map((at) => items[at] as Item));
    for (const [place, at] of places.entries()) outcomes[at] = applied[place] as Outcome;
  }
  return outcomes;
}

/** The places of `items`, round by round. */
function roundsOf(items: readonly { markingNumber: string }[]): number[][] {
  const seen = new Map<string, number>();
  const rounds: number[][] = [];
  for (const [at, { markingNumber }] of items.entries()) {
    const round = seen.get(markingNumber) ?? 0;
    seen.set(markingNumber, round + 1);
    (rounds[round] ??= []).push(at);
  }
  return rounds;
}
