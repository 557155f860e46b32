/** Where a command's words go: its result to standard output, all else to standard error. */

export interface Output {
  isJson: boolean;
  /** Commander's help and version, until it is known how to print them. */
  readonly held: string[];
  /** The command's result: `document` with --json, else `text`. Once a run. */
  result(document: object, text: string): void;
  /** Told to the person who waits. */
  note(text: string): void;
}

export function createOutput(isJson: boolean): Output {
  // A reader that went away (`| head`) is no failure of ours, and what was opened is still closed in order.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
  return {
    isJson,
    held: [],
    result(document, text) {
      process.stdout.write(this.isJson ? `${JSON.stringify(document, null, 2)}\n` : `${text}\n`);
    },
    note(text) {
      process.stderr.write(text.endsWith("\n") ? text : `${text}\n`);
    },
  };
}

/** Text from outside, fit for a terminal: control characters, which could move its cursor or more, are spelled out. */
export function printable(text: string): string {
  return text.replaceAll(
    /[\p{Cc}\p{Cf}\u2028\u2029]/gu,
    (character) => `\\u{${(character.codePointAt(0) as number).toString(16)}}`,
  );
}

/** Lines in columns, the first of them the head. */
export function tableOf(rows: readonly (readonly string[])[]): string {
  const shown = rows.map((row) => row.map(printable));
  const widths =
    shown[0]?.map((_, column) => Math.max(...shown.map((row) => row[column]?.length ?? 0))) ?? [];
  const lineOf = (row: readonly string[]): string =>
    row.map((text, column) => text.padEnd(widths[column] ?? 0)).join("  ");
  return shown.map((row) => lineOf(row).trimEnd()).join("\n");
}

/** Names and values below each other. */
export function listOf(entries: Readonly<Record<string, string>>): string {
  return tableOf(Object.entries(entries).map(([name, value]) => [`${name}:`, value]));
}
