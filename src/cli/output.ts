/** Prints a command's result on standard output and everything else on standard error. */
import type { Writable } from "node:stream";
import { snakeCase } from "../core/names.ts";

export interface Result {
  /** Printed with the names of the REST API: `createdAt` as `created_at`. */
  readonly data: object;
  /** Printed without --json. Default: the data, a line for each member. */
  readonly text?: string;
  /** Printed after the text. */
  readonly note?: string | undefined;
  /** 1 reports a partial failure, for example failed rows of an import; default 0. */
  readonly exitCode?: 0 | 1;
}

export interface Output {
  readonly isJson: boolean;
  /** Prints the command's result: its data with --json, otherwise text. Call once per run. */
  readonly printResult: (result: Result) => void;
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
    printResult({ data, text = formatFields(data), note }) {
      if (isJson) stdout.write(`${JSON.stringify(toDocument(data), null, 2)}\n`);
      else stdout.write(note === undefined ? `${text}\n` : `${text}\n${note}\n`);
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

/** Returns `{"items": […]}`, with these members of the items as the columns of a table. */
export function listResult<Item extends object>(
  items: readonly Item[],
  columns: readonly (keyof Item & string)[],
): Result {
  const headings = columns.map((name) => snakeCase(name).replaceAll("_", " ").toUpperCase());
  const rows = [headings, ...items.map((item) => columns.map((name) => formatValue(item[name])))];
  const widths = columns.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) => row.map((text, column) => text.padEnd(widths[column] ?? 0)).join("  "));
  return {
    data: { items: items.map(toDocument) },
    text: items.length === 0 ? "Nothing to list." : lines.map((line) => line.trimEnd()).join("\n"),
  };
}

/** Returns a line for each member of `data`. The members of an object in it are indented below its name. */
function formatFields(data: object, indent = ""): string {
  // A header is one line.
  const isHeader = "name" in data && "value" in data && Object.keys(data).length === 2;
  const fields = isHeader ? [[String(data.name), data.value] as const] : Object.entries(toDocument(data));
  const format = (value: unknown): string => {
    const parts = [value].flat();
    if (!parts.some(isObject)) return ` ${formatValue(value)}`;
    return parts.map((part) => `\n${formatFields(part as object, `${indent}  `)}`).join("");
  };
  return fields
    .map(([name, value]) => `${indent}${escapeControlCharacters(name)}:${format(value)}`)
    .join("\n");
}

function formatValue(value: unknown): string {
  if (value instanceof Date) return value.toISOString();
  const text = [value].flat().join(", ");
  return text === "" ? "-" : escapeControlCharacters(text);
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !(value instanceof Date);
}

/** Returns a service's view as JSON with the key names of the REST API: `createdAt` becomes `created_at`. */
export function toDocument(view: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(view).map(([name, value]: [string, unknown]) => [snakeCase(name), value]),
  );
}
