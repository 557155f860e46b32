/**
 * CSV as RFC 4180 has it, read and written. Three things are kept that readers usually lose: the line that a record starts
 * on, whether an empty cell was quoted (as with PostgreSQL's COPY, `""` is an empty string and nothing is null), and bytes
 * that are not UTF-8. A malformed record is told and left behind; reading goes on at the line after its first.
 */
import { isUtf8 } from "node:buffer";
import { readRecords, type Found, type StreamRecord } from "./record-stream.ts";

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
  return readRecords(chunks, findRecord);
}

/** A line of CSV without its end: null is an empty cell, an empty string a quoted one. */
export function csvLine(cells: readonly (string | null)[]): string {
  return cells.map((text) => (text === null ? "" : cellText(text))).join(",");
}

function cellText(text: string): string {
  return text === "" || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A cell before it is decoded: its bytes are those from `start` to `stop`, and `end` is where the next comma stands. */
interface Span {
  readonly start: number;
  readonly stop: number;
  readonly end: number;
  readonly isQuoted: boolean;
  readonly fault?: string;
}

function findRecord(bytes: Buffer, from: number, isLast: boolean): Found<CsvRecord> | null {
  const spans: Span[] = [];
  let at = from;
  for (;;) {
    const span = bytes[at] === QUOTE ? quotedCell(bytes, at) : plainCell(bytes, at);
    if (span.end >= bytes.length && !isLast) return null;
    if (span.fault !== undefined) return faulty(bytes, from, isLast, span.fault);
    spans.push(span);
    if (bytes[span.end] !== COMMA) break;
    at = span.end + 1;
  }
  const end = afterLineEnd(bytes, (spans.at(-1) as Span).end, isLast);
  return end === null ? null : { content: recordOf(bytes, spans), end, lines: linesIn(bytes, from, end) };
}

function plainCell(bytes: Buffer, start: number): Span {
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

function quotedCell(bytes: Buffer, opening: number): Span {
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
  const isSound = next === undefined || next === COMMA || next === LF || next === CR;
  return {
    start,
    stop: closing,
    end,
    isQuoted,
    ...(isSound ? {} : { fault: "has text after a closing quote" }),
  };
}

/** Only the first line is given up: what the quotes of a malformed record seem to span may be sound records. */
function faulty(bytes: Buffer, from: number, isLast: boolean, fault: string): Found<CsvRecord> | null {
  let end = from;
  while (end < bytes.length && bytes[end] !== LF && bytes[end] !== CR) end += 1;
  const next = afterLineEnd(bytes, end, isLast);
  return next === null ? null : { content: { fault }, end: next, lines: 1 };
}

/** Where the line after the one that ends at `at` begins; null where that cannot be told yet. */
function afterLineEnd(bytes: Buffer, at: number, isLast: boolean): number | null {
  const isPair = bytes[at] === CR && bytes[at + 1] === LF;
  const couldBePair = bytes[at] === CR && at + 1 === bytes.length;
  if ((couldBePair || at >= bytes.length) && !isLast) return null;
  return Math.min(at + (isPair ? 2 : 1), bytes.length);
}

function linesIn(bytes: Buffer, from: number, end: number): number {
  let lines = 0;
  for (let at = from; at < end; at += 1) {
    if (bytes[at] === LF || (bytes[at] === CR && bytes[at + 1] !== LF)) lines += 1;
  }
  return lines;
}

function recordOf(bytes: Buffer, spans: readonly Span[]): CsvRecord | null {
  const cells = spans.map(({ start, stop, isQuoted }) => ({
    text: textOf(bytes, start, stop, isQuoted),
    isQuoted,
  }));
  // Spreadsheets end their files with rows of nothing but commas.
  return cells.every(({ text, isQuoted }) => text === "" && !isQuoted) ? null : { cells };
}

function textOf(bytes: Buffer, start: number, stop: number, isQuoted: boolean): string | null {
  const text = bytes.toString("utf8", start, stop);
  // Bytes that are no UTF-8 are decoded as U+FFFD, which a sound text may hold too.
  if (text.includes("\uFFFD") && !isUtf8(bytes.subarray(start, stop))) return null;
  return isQuoted ? text.replaceAll('""', '"') : text;
}
