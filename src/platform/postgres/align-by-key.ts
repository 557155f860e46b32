/** `rows` in the order of `names`, whatever order they came in; null in the place of a name that no row has. */
export function alignByKey<Row>(
  keys: readonly string[],
  rows: readonly Row[],
  keyOf: (row: Row) => string,
): (Row | null)[] {
  const rowsByKey = new Map(rows.map((row) => [keyOf(row), row]));
  return keys.map((name) => rowsByKey.get(name) ?? null);
}
