/** Reads newline-delimited JSON: one object per line. A malformed line is returned as an error, and reading continues. */
import { isUtf8 } from "node:buffer";
import { readRecords, type RecordMatch, type StreamRecord } from "./record-reader.ts";

/** The object of a line, or its error as a predicate ("is not valid JSON"). */
export type NdjsonRecord = { readonly value: Readonly<Record<string, unknown>> } | { readonly error: string };

const LF = 0x0a;

/** Yields the records of `chunks` and skips blank lines. */
export function readNdjson(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<StreamRecord<NdjsonRecord>> {
  return readRecords(chunks, parseLine);
}

function parseLine(bytes: Buffer, from: number, isLast: boolean): RecordMatch<NdjsonRecord> | null {
  const newline = bytes.indexOf(LF, from);
  if (newline === -1 && !isLast) return null;
  const stop = newline === -1 ? bytes.length : newline;
  return { content: toRecord(bytes.subarray(from, stop)), end: Math.min(stop + 1, bytes.length), lines: 1 };
}

function toRecord(line: Buffer): NdjsonRecord | null {
  const text = line.toString("utf8");
  if (text.includes("\uFFFD") && !isUtf8(line)) return { error: "is not valid UTF-8" };
  if (text.trim() === "") return null;
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null || Array.isArray(value))
      return { error: "is not a JSON object" };
    return { value: value as Record<string, unknown> };
  } catch {
    return { error: "is not valid JSON" };
  }
}
