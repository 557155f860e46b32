/**
 * CSV as RFC 4180 has it, read and written. Three things are kept that readers usually lose: the line that a record starts
 * on, whether an empty cell was quoted (as with PostgreSQL's COPY, `""` is an empty string and nothing is null), and bytes
 * that are not UTF-8. A malformed record is told and left behind; reading goes on at the line after its first.
 */
import { isUtf8 } from "node:buffer";
import { readRecords, type RecordMatch, type StreamRecord } from "./record-reader.ts";

export interface CsvCell {
  /** Null: its bytes are not UTF-8. */
  readonly text: string | null;
  readonly isQuoted: boolean;
}

/** The cells of a record, or why it is none: `fault` is a predicate. */
export type CsvRecord = { readonly cells: readonly CsvCell[] } | { readonly fault: string };

const QUOTE = 0x22;
const COMMA = 0x2c;
const LF = 0x0a;
const CR = 0x0d;

/** The records of `chunks`, blank ones left out. A line ends with CRLF, LF or CR. */
export function readCsv(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<StreamRecord<CsvRecord>> {
  return readRecords(chunks, parseRecord);
}

/** A line of CSV without its end: null is an empty cell, an empty string a quoted one. */
export function csvLine(cells: readonly (string | null)[]): string {
  return cells.map((text) => (text === null ? "" : formatCell(text))).join(",");
}

function formatCell(text: string): string {
  return text === "" || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A cell before it is decoded: its bytes are those from `start` to `stop`, and `end` is where the next comma stands. */
interface CellSpan {
  readonly start: number;
  readonly stop: number;
  readonly end: number;
  readonly isQuoted: boolean;
  readonly fault?: string;
}

function parseRecord(bytes: Buffer, from: number, isLast: boolean): RecordMatch<CsvRecord> | null {
  const cellSpans: CellSpan[] = [];
  let position = from;
  for (;;) {
    const span =
      bytes[position] === QUOTE ? scanQuotedCell(bytes, position) : scanUnquotedCell(bytes, position);
    if (span.end >= bytes.length && !isLast) return null;
    if (span.fault !== undefined) return skipMalformedLine(bytes, from, isLast, span.fault);
    cellSpans.push(span);
    if (bytes[span.end] !== COMMA) break;
    position = span.end + 1;
  }
  const end = skipLineEnd(bytes, (cellSpans.at(-1) as CellSpan).end, isLast);
  return end === null
    ? null
    : { content: toRecord(bytes, cellSpans), end, lines: countLines(bytes, from, end) };
}

function scanUnquotedCell(bytes: Buffer, start: number): CellSpan {
  let end = start;
  for (; end < bytes.length; end += 1) {
    const byte = bytes[end];
    if (byte === COMMA || byte === LF || byte === CR) break;
    if (byte === QUOTE)
      return {
        start,
        stop: end,
        end,
        isQuoted: false,
        fault: "has a quote inside a cell that is not quoted",
      };
  }
  return { start, stop: end, end, isQuoted: false };
}

function scanQuotedCell(bytes: Buffer, opening: number): CellSpan {
  const start = opening + 1;
  let closing = bytes.indexOf(QUOTE, start);
  while (closing !== -1 && bytes[closing + 1] === QUOTE) closing = bytes.indexOf(QUOTE, closing + 2);
  const isQuoted = true;
  if (closing === -1) {
    const end = bytes.length;
    return { start, stop: end, end, isQuoted, fault: "opens a quote that is never closed" };
  }
  const end = closing + 1;
  const next = bytes[end];
  const isWellFormed = next === undefined || next === COMMA || next === LF || next === CR;
  return {
    start,
    stop: closing,
    end,
    isQuoted,
    ...(isWellFormed ? {} : { fault: "has text after a closing quote" }),
  };
}

/** Only the first line is given up: what the quotes of a malformed record seem to span may be sound records. */
function skipMalformedLine(
  bytes: Buffer,
  from: number,
  isLast: boolean,
  fault: string,
): RecordMatch<CsvRecord> | null {
  let end = from;
  while (end < bytes.length && bytes[end] !== LF && bytes[end] !== CR) end += 1;
  const next = skipLineEnd(bytes, end, isLast);
  return next === null ? null : { content: { fault }, end: next, lines: 1 };
}

/** Where the line after the one that ends at `at` begins; null where that cannot be told yet. */
function skipLineEnd(bytes: Buffer, position: number, isLast: boolean): number | null {
  const isPair = bytes[position] === CR && bytes[position + 1] === LF;
  const couldBePair = bytes[position] === CR && position + 1 === bytes.length;
  if ((couldBePair || position >= bytes.length) && !isLast) return null;
  return Math.min(position + (isPair ? 2 : 1), bytes.length);
}

function countLines(bytes: Buffer, from: number, end: number): number {
  let lines = 0;
  for (let at = from; at < end; at += 1) {
    if (bytes[at] === LF || (bytes[at] === CR && bytes[at + 1] !== LF)) lines += 1;
  }
  return lines;
}

function toRecord(bytes: Buffer, spans: readonly CellSpan[]): CsvRecord | null {
  const cells = spans.map(({ start, stop, isQuoted }) => ({
    text: decodeCell(bytes, start, stop, isQuoted),
    isQuoted,
  }));
  // Spreadsheets end their files with rows of nothing but commas.
  return cells.every(({ text, isQuoted }) => text === "" && !isQuoted) ? null : { cells };
}

function decodeCell(bytes: Buffer, start: number, stop: number, isQuoted: boolean): string | null {
  const text = bytes.toString("utf8", start, stop);
  // Bytes that are no UTF-8 are decoded as U+FFFD, which a sound text may hold too.
  if (text.includes("\uFFFD") && !isUtf8(bytes.subarray(start, stop))) return null;
  return isQuoted ? text.replaceAll('""', '"') : text;
}
