/** Newline-delimited JSON: one object a line. A line that holds none is told, and reading goes on. */
import { isUtf8 } from "node:buffer";
import { readRecords, type RecordMatch, type StreamRecord } from "./record-reader.ts";

/** The object of a line, or why it is none: `fault` is a predicate. */
export type NdjsonRecord = { readonly value: Readonly<Record<string, unknown>> } | { readonly fault: string };

const LF = 0x0a;

/** The lines of `chunks`, blank ones left out. */
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
  if (text.includes("\uFFFD") && !isUtf8(line)) return { fault: "is not valid UTF-8" };
  if (text.trim() === "") return null;
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null || Array.isArray(value))
      return { fault: "is not a JSON object" };
    return { value: value as Record<string, unknown> };
  } catch {
    return { fault: "is not valid JSON" };
  }
}
