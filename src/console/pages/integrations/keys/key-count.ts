/** Formats a number of keys: "1 key", "2 keys". */
export function keyCount(count: number): string {
  return count === 1 ? "1 key" : `${count} keys`;
}
