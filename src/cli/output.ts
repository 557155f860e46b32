/** Where a command's words go: its result to standard output, all else to standard error. */

export interface Output {
  isJson: boolean;
  /** Commander's help and version, until it is known how to print them. */
  readonly bufferedHelp: string[];
  /** The command's result: `document` with --json, else `text`. Once a run. */
  printResult(document: object, text: string): void;
  /** Told to the person who waits. */
  printStatus(text: string): void;
}

export function createOutput(isJson: boolean): Output {
  // A reader that went away (`| head`) is no failure of ours, and what was opened is still closed in order.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
  return {
    isJson,
    bufferedHelp: [],
    printResult(document, text) {
      process.stdout.write(this.isJson ? `${JSON.stringify(document, null, 2)}\n` : `${text}\n`);
    },
    printStatus(text) {
      process.stderr.write(text.endsWith("\n") ? text : `${text}\n`);
    },
  };
}

/** Text from outside, fit for a terminal: control characters, which could move its cursor or more, are spelled out. */
export function escapeControlCharacters(text: string): string {
  return text.replaceAll(
    /[\p{Cc}\p{Cf}\u2028\u2029]/gu,
    (character) => `\\u{${(character.codePointAt(0) as number).toString(16)}}`,
  );
}

/** Lines in columns, the first of them the head. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const escapedRows = rows.map((row) => row.map(escapeControlCharacters));
  const widths =
    escapedRows[0]?.map((_, column) => Math.max(...escapedRows.map((row) => row[column]?.length ?? 0))) ?? [];
  const formatLine = (row: readonly string[]): string =>
    row.map((text, column) => text.padEnd(widths[column] ?? 0)).join("  ");
  return escapedRows.map((row) => formatLine(row).trimEnd()).join("\n");
}

/** Names and values below each other. */
export function formatList(entries: Readonly<Record<string, string>>): string {
  return formatTable(Object.entries(entries).map(([name, value]) => [`${name}:`, value]));
}
