/**
 * Reads and writes CSV (RFC 4180). Each record keeps its line number, and each cell whether it was quoted: as in PostgreSQL's
 * COPY, `""` is an empty string and an empty cell is null. A malformed record is returned as an error, and reading continues
 * at the next line.
 */
import { isUtf8 } from "node:buffer";
import { readRecords, type RecordMatch, type StreamRecord } from "./record-reader.ts";

export interface CsvCell {
  /** Null if the bytes are not UTF-8. */
  readonly text: string | null;
  readonly isQuoted: boolean;
}

/** The cells of a record, or its error as a predicate ("has text after a closing quote"). */
export type CsvRecord = { readonly cells: readonly CsvCell[] } | { readonly error: string };

const QUOTE = 0x22;
/** Commas, and what spreadsheets write in countries with decimal commas. */
const DELIMITERS = Buffer.from(",;\t");
const [COMMA] = DELIMITERS;
const LF = 0x0a;
const CR = 0x0d;

/**
 * Yields the records of `chunks` and skips blank ones. Lines end with CRLF, LF or CR. Cells are separated by the comma, semicolon or
 * tab that divides the first record into most cells.
 */
export function readCsv(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<StreamRecord<CsvRecord>> {
  let delimiter: number | null = null;
  return readRecords(chunks, (bytes, from, isLast) => {
    if (delimiter !== null) return parseRecord(bytes, { from, isLast, delimiter });
    const found = findDelimiter(bytes, from, isLast);
    const record = parseRecord(bytes, { from, isLast, delimiter: found });
    // A blank line says nothing.
    if (record && record.content !== null) delimiter = found;
    return record;
  });
}

function findDelimiter(bytes: Buffer, from: number, isLast: boolean): number {
  const counts = Array.from(DELIMITERS, (delimiter) => {
    const content = parseRecord(bytes, { from, isLast, delimiter })?.content;
    return { delimiter, cells: content && "cells" in content ? content.cells.length : 0 };
  });
  const [most] = counts.toSorted((one, other) => other.cells - one.cells);
  return most?.delimiter ?? (COMMA as number);
}

/** The start of a record and the format of its file. */
interface RecordStart {
  readonly from: number;
  readonly isLast: boolean;
  readonly delimiter: number;
}

/** Formats a line without its line ending. Null becomes an empty cell, an empty string a quoted cell. */
export function csvLine(cells: readonly (string | null)[]): string {
  return cells.map((text) => (text === null ? "" : formatCell(text))).join(",");
}

function formatCell(text: string): string {
  return text === "" || /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A cell that is not decoded yet: its content is `start` to `stop`; `end` is the offset of the delimiter behind it. */
interface CellSpan {
  readonly start: number;
  readonly stop: number;
  readonly end: number;
  readonly isQuoted: boolean;
  readonly error?: string;
}

function parseRecord(bytes: Buffer, { from, isLast, delimiter }: RecordStart): RecordMatch<CsvRecord> | null {
  const cellSpans: CellSpan[] = [];
  let position = from;
  for (;;) {
    const span =
      bytes[position] === QUOTE
        ? scanQuotedCell(bytes, position, delimiter)
        : scanUnquotedCell(bytes, position, delimiter);
    if (span.end >= bytes.length && !isLast) return null;
    if (span.error !== undefined) return skipMalformedLine(bytes, from, isLast, span.error);
    cellSpans.push(span);
    if (bytes[span.end] !== delimiter) break;
    position = span.end + 1;
  }
  const end = skipLineEnd(bytes, (cellSpans.at(-1) as CellSpan).end, isLast);
  return end === null
    ? null
    : { content: toRecord(bytes, cellSpans), end, lines: countLines(bytes, from, end) };
}

function scanUnquotedCell(bytes: Buffer, start: number, delimiter: number): CellSpan {
  let end = start;
  for (; end < bytes.length; end += 1) {
    const byte = bytes[end];
    if (byte === delimiter || byte === LF || byte === CR) break;
    if (byte === QUOTE)
      return {
        start,
        stop: end,
        end,
        isQuoted: false,
        error: "has a quote inside a cell that is not quoted",
      };
  }
  return { start, stop: end, end, isQuoted: false };
}

function scanQuotedCell(bytes: Buffer, opening: number, delimiter: number): CellSpan {
  const start = opening + 1;
  let closing = bytes.indexOf(QUOTE, start);
  while (closing !== -1 && bytes[closing + 1] === QUOTE) closing = bytes.indexOf(QUOTE, closing + 2);
  const isQuoted = true;
  if (closing === -1) {
    const end = bytes.length;
    return { start, stop: end, end, isQuoted, error: "opens a quote that is never closed" };
  }
  const end = closing + 1;
  const next = bytes[end];
  const isWellFormed = next === undefined || next === delimiter || next === LF || next === CR;
  return {
    start,
    stop: closing,
    end,
    isQuoted,
    ...(isWellFormed ? {} : { error: "has text after a closing quote" }),
  };
}

/** Skips only the record's first line: the lines that an unclosed quote seems to span may be valid records. */
function skipMalformedLine(
  bytes: Buffer,
  from: number,
  isLast: boolean,
  error: string,
): RecordMatch<CsvRecord> | null {
  let end = from;
  while (end < bytes.length && bytes[end] !== LF && bytes[end] !== CR) end += 1;
  const next = skipLineEnd(bytes, end, isLast);
  return next === null ? null : { content: { error }, end: next, lines: 1 };
}

/** Returns the offset after the line ending at `position`, or null if more bytes are needed to know it. */
function skipLineEnd(bytes: Buffer, position: number, isLast: boolean): number | null {
  const isPair = bytes[position] === CR && bytes[position + 1] === LF;
  const couldBePair = bytes[position] === CR && position + 1 === bytes.length;
  if ((couldBePair || position >= bytes.length) && !isLast) return null;
  return Math.min(position + (isPair ? 2 : 1), bytes.length);
}

function countLines(bytes: Buffer, from: number, end: number): number {
  let lines = 0;
  for (let index = from; index < end; index += 1) {
    if (bytes[index] === LF || (bytes[index] === CR && bytes[index + 1] !== LF)) lines += 1;
  }
  return lines;
}

function toRecord(bytes: Buffer, spans: readonly CellSpan[]): CsvRecord | null {
  const cells = spans.map(({ start, stop, isQuoted }) => ({
    text: decodeCell(bytes, start, stop, isQuoted),
    isQuoted,
  }));
  // Spreadsheets often append rows that contain only commas.
  return cells.every(({ text, isQuoted }) => text === "" && !isQuoted) ? null : { cells };
}

function decodeCell(bytes: Buffer, start: number, stop: number, isQuoted: boolean): string | null {
  const text = bytes.toString("utf8", start, stop);
  // Invalid bytes decode to U+FFFD, but valid text may contain U+FFFD too.
  if (text.includes("\uFFFD") && !isUtf8(bytes.subarray(start, stop))) return null;
  return isQuoted ? text.replaceAll('""', '"') : text;
}
