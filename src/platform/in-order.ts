/** `rows` in the order of `names`, whatever order they came in; null in the place of a name that no row has. */
export function inOrder<Row>(
  names: readonly string[],
  rows: readonly Row[],
  nameOf: (row: Row) => string,
): (Row | null)[] {
  const found = new Map(rows.map((row) => [nameOf(row), row]));
  return names.map((name) => found.get(name) ?? null);
}
