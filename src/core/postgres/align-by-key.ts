/** Returns the rows in the order of `keys`, with null for each key that has no row. */
export function alignByKey<Row>(
  keys: readonly string[],
  rows: readonly Row[],
  keyOf: (row: Row) => string,
): (Row | null)[] {
  const rowsByKey = new Map(rows.map((row) => [keyOf(row), row]));
  return keys.map((key) => rowsByKey.get(key) ?? null);
}
