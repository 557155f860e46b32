/** Statements that change each job at most once, made of changes that may name a job twice. */

/** The places of `markingNumbers` in rounds without repetition: the first of each Marking Number, then the second, and so on. */
export function roundsOf(markingNumbers: readonly string[]): number[][] {
  const seen = new Map<string, number>();
  const rounds: number[][] = [];
  for (const [at, markingNumber] of markingNumbers.entries()) {
    const round = seen.get(markingNumber) ?? 0;
    seen.set(markingNumber, round + 1);
    (rounds[round] ??= []).push(at);
  }
  return rounds;
}
