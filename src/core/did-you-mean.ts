/** Suggestions for mistyped names. */
import { MAX_PROBLEMS } from "./errors.ts";

const MAX_SHOWN_LENGTH = 100;

/**
 * Returns the names that are not in `known`, at most 20 and each cut to 100 characters, with the known name that may be meant or
 * null.
 */
export function unknownNames(
  names: readonly string[],
  known: readonly string[],
): { name: string; nearest: string | null }[] {
  return names
    .filter((name) => !known.includes(name))
    .slice(0, MAX_PROBLEMS)
    .map((name) => ({
      name: name.slice(0, MAX_SHOWN_LENGTH).toWellFormed(),
      nearest: suggestClosest(name, known),
    }));
}

/** Returns the candidate with the smallest edit distance to `text`, or null if that exceeds 2 and a third of its length. */
export function suggestClosest(text: string, candidates: readonly string[]): string | null {
  const input = text.trim().toLowerCase().slice(0, 100);
  const [best] = candidates
    .map((name) => ({ name, distance: editDistance(input, name.toLowerCase()) }))
    .toSorted((one, other) => one.distance - other.distance);
  return best && best.distance <= Math.max(2, best.name.length / 3) ? best.name : null;
}

/** Returns the Levenshtein distance. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (const [rowIndex, character] of Array.from(from).entries()) {
    const next = [rowIndex + 1];
    for (let column = 1; column <= to.length; column += 1) {
      const replaced = (row[column - 1] as number) + (character === to[column - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[column] as number) + 1, (next[column - 1] as number) + 1));
    }
    row = next;
  }
  return row.at(-1) as number;
}
