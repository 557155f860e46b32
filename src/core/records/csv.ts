/**
 * Reads and writes CSV (RFC 4180). Each record keeps its line number, and each cell whether it was quoted: as in PostgreSQL's
 * COPY, `""` is an empty string and an empty cell is null. A malformed record is returned as an error, and reading continues
 * at the next line.
 */
import { decodeUtf8, readRecords, type RecordMatch, type StreamRecord } from "./record-reader.ts";

export interface CsvCell {
  /** Null if the bytes are not UTF-8. */
  readonly text: string | null;
  readonly isQuoted: boolean;
}

/** The cells of a record, or its error as a predicate ("has text after a closing quote"). */
export type CsvRecord = { readonly cells: readonly CsvCell[] } | { readonly error: string };

/** Commas, and what spreadsheets write in countries with decimal commas. */
const formats = [
  { delimiter: ",", unquoted: /[^",\r\n]*/y },
  { delimiter: ";", unquoted: /[^";\r\n]*/y },
  { delimiter: "\t", unquoted: /[^"\t\r\n]*/y },
] as const;
type Format = (typeof formats)[number];
const QUOTED = /"([^"]*(?:""[^"]*)*)"(?!")/y;
const LINE_END = /\r\n|[\r\n]/g;

/**
 * Yields the records of `chunks` and skips blank ones. Lines end with CRLF, LF or CR. Cells are separated by the comma, semicolon or
 * tab that divides the first record into most cells.
 */
export function readCsv(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<StreamRecord<CsvRecord>> {
  let candidates: readonly Format[] = formats;
  return readRecords(chunks, (text, from, isLast) => {
    const parsed = candidates.map((format) => ({ format, match: parseRecord(text, from, isLast, format) }));
    if (parsed.some(({ match }) => match === null)) return null;
    const [best] = parsed.toSorted((one, other) => countCells(other.match) - countCells(one.match));
    // A blank line says nothing.
    if (best?.match?.content) candidates = [best.format];
    return best?.match ?? null;
  });
}

function countCells(match: RecordMatch<CsvRecord> | null): number {
  return match?.content && "cells" in match.content ? match.content.cells.length : 0;
}

/** Formats a line without its line ending. Null becomes an empty cell, an empty string a quoted cell. */
export function csvLine(cells: readonly (string | null)[]): string {
  return cells.map((text) => (text === null ? "" : formatCell(text))).join(",");
}

function formatCell(text: string): string {
  return text === "" || /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function parseRecord(
  text: string,
  from: number,
  isLast: boolean,
  { delimiter, unquoted }: Format,
): RecordMatch<CsvRecord> | null {
  const cells: { content: string; isQuoted: boolean }[] = [];
  let position = from;
  for (;;) {
    const isQuoted = text[position] === '"';
    const pattern = isQuoted ? QUOTED : unquoted;
    pattern.lastIndex = position;
    const match = pattern.exec(text);
    position = match ? pattern.lastIndex : text.length;
    const next = text[position];
    if (next === undefined && !isLast) return null;
    if (!match) return skipLine(text, from, isLast, "opens a quote that is never closed");
    if (next !== undefined && !`${delimiter}\r\n`.includes(next)) {
      const error = isQuoted
        ? "has text after a closing quote"
        : "has a quote inside a cell that is not quoted";
      return skipLine(text, from, isLast, error);
    }
    const [cell, content = cell] = match;
    cells.push({ content, isQuoted });
    if (next !== delimiter) break;
    position += 1;
  }
  const end = endOfLine(text, position, isLast);
  if (end === null) return null;
  // Spreadsheets often append rows that contain only commas.
  const isBlank = cells.every(({ content, isQuoted }) => content === "" && !isQuoted);
  const lines = text.slice(from, end).match(LINE_END)?.length ?? 0;
  return { content: isBlank ? null : { cells: cells.map(toCell) }, end, lines };
}

function toCell({ content, isQuoted }: { content: string; isQuoted: boolean }): CsvCell {
  return { text: decodeUtf8(content.replaceAll('""', '"')), isQuoted };
}

/** Skips only the record's first line: the lines that an unclosed quote seems to span may be valid records. */
function skipLine(text: string, from: number, isLast: boolean, error: string): RecordMatch<CsvRecord> | null {
  const end = endOfLine(text, from, isLast);
  return end === null ? null : { content: { error }, end, lines: 1 };
}

/** Returns the offset after the line that `position` is in, or null if more text is needed to know it. */
function endOfLine(text: string, position: number, isLast: boolean): number | null {
  LINE_END.lastIndex = position;
  const end = LINE_END.test(text) ? LINE_END.lastIndex : text.length;
  // A CR at the end may be half of a CRLF.
  return end === text.length && !isLast && !text.endsWith("\n") ? null : end;
}
