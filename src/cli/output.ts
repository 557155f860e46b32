/** Prints a command's result on standard output and everything else on standard error. */
import type { Writable } from "node:stream";
import { snakeCase } from "../core/names.ts";

export interface Output {
  isJson: boolean;
  /** Commander's help or version text, buffered until it is known whether to print JSON. */
  readonly bufferedHelp: string[];
  /** Prints the command's result: `document` with --json, otherwise `text`. Call once per run. */
  printResult(document: object, text: string): void;
  /** Prints a message for the user on standard error. */
  readonly printStatus: (text: string) => void;
}

export function createOutput(
  isJson: boolean,
  { stdout, stderr }: { stdout: Writable; stderr: Writable },
): Output {
  // Ignore a closed pipe (`| head`), so that the command still closes its resources.
  stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
  return {
    isJson,
    bufferedHelp: [],
    printResult(document, text) {
      stdout.write(this.isJson ? `${JSON.stringify(document, null, 2)}\n` : `${text}\n`);
    },
    printStatus(text) {
      stderr.write(text.endsWith("\n") ? text : `${text}\n`);
    },
  };
}

/** Replaces control characters by `\u{…}`, so that text from outside cannot control the terminal. */
export function escapeControlCharacters(text: string): string {
  return text.replaceAll(
    /[\p{Cc}\p{Cf}\u2028\u2029]/gu,
    (character) => `\\u{${(character.codePointAt(0) as number).toString(16)}}`,
  );
}

/** Aligns rows in columns; the first row is the heading. */
function formatTable(rows: readonly (readonly string[])[]): string {
  const escapedRows = rows.map((row) => row.map(escapeControlCharacters));
  const widths =
    escapedRows[0]?.map((_, column) => Math.max(...escapedRows.map((row) => row[column]?.length ?? 0))) ?? [];
  const formatLine = (row: readonly string[]): string =>
    row.map((text, column) => text.padEnd(widths[column] ?? 0)).join("  ");
  return escapedRows.map((row) => formatLine(row).trimEnd()).join("\n");
}

/** Returns the items as a table with these columns, or the sentence `empty`, and as `{"items": […]}`. */
export function listResult<Item>(
  items: readonly Item[],
  { columns, toItem, empty }: ListFormat<Item>,
): { document: { items: object[] }; text: string } {
  const rows = items.map((item) => Object.values(columns).map((valueOf) => valueOf(item)));
  return {
    document: { items: items.map((item) => toItem(item)) },
    text: rows.length === 0 ? empty : formatTable([Object.keys(columns), ...rows]),
  };
}

export interface ListFormat<Item> {
  /** The text of an item in each column, by its heading. */
  readonly columns: Readonly<Record<string, (item: Item) => string>>;
  /** The item as JSON. */
  readonly toItem: (item: Item) => object;
  /** The text for an empty list. */
  readonly empty: string;
}

/** Returns one "name: value" line per entry, with aligned values. */
export function formatList(entries: Readonly<Record<string, string>>): string {
  return formatTable(Object.entries(entries).map(([name, value]) => [`${name}:`, value]));
}

/** Returns a service's view as JSON with the key names of the REST API: `createdAt` becomes `created_at`. */
export function toDocument(view: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(view).map(([name, value]: [string, unknown]) => [snakeCase(name), value]),
  );
}
