/** What a mistyped name was probably meant to be. */

/** The one of `names` that the fewest edits lead to, where that is near enough to be worth suggesting. */
export function suggestClosest(text: string, candidates: readonly string[]): string | null {
  const input = text.trim().toLowerCase().slice(0, 100);
  const [best] = candidates
    .map((name) => ({ name, distance: editDistance(input, name.toLowerCase()) }))
    .toSorted((one, other) => one.distance - other.distance);
  return best && best.distance <= Math.max(2, best.name.length / 3) ? best.name : null;
}

/** How many characters must be put in, taken out or replaced (Levenshtein), row by row. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (const [rowIndex, character] of Array.from(from).entries()) {
    const next = [rowIndex + 1];
    for (let at = 1; at <= to.length; at += 1) {
      const replaced = (row[at - 1] as number) + (character === to[at - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[at] as number) + 1, (next[at - 1] as number) + 1));
    }
    row = next;
  }
  return row.at(-1) as number;
}
