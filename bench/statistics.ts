/** Rounds in turn, and their medians. */

/** Returns the value below which `part` (0 to 1) of the values are; NaN without values. */
export function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/** Returns the median of each figure. */
export function medianOf<Name extends string>(
  all: readonly Readonly<Record<Name, number>>[],
): Record<Name, number> {
  const names = Object.keys(all[0] ?? {}) as Name[];
  const medians = names.map((name) => [name, median(all.map((figures) => figures[name]))]);
  return Object.fromEntries(medians) as Record<Name, number>;
}

export interface Ratio {
  median: number;
  min: number;
  max: number;
}

/** Divides `of` a round of `a` by that of the same round of `b`. */
export function ratioOf<Result>(
  a: readonly Result[],
  b: readonly Result[],
  of: (result: Result) => number,
): Ratio {
  const ratios = a.map((result, at) => of(result) / of(b[at] as Result));
  return { median: median(ratios), min: Math.min(...ratios), max: Math.max(...ratios) };
}

/**
 * Measures the sides in turn, so that other load on the machine affects all of them, and rotated, so that each is first equally
 * often. Returns one result per round for each side, in their order. Results of warm-ups are dropped.
 */
export async function measureInTurn<Side, Result>(
  sides: readonly Side[],
  { warmUps, rounds }: { warmUps: number; rounds: number },
  measure: (side: Side, isWarmUp: boolean) => Promise<Result>,
): Promise<Result[][]> {
  const results = sides.map((): Result[] => []);
  for (let round = -warmUps; round < rounds; round += 1)
    for (const place of sides.keys()) {
      const at = (place + Math.max(0, round)) % sides.length;
      const result = await measure(sides[at] as Side, round < 0);
      if (round >= 0) results[at]?.push(result);
    }
  return results;
}
