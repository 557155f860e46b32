/** Reads newline-delimited JSON: one object per line. A malformed line is returned as an error, and reading continues. */
import { isObject, type JsonObject } from "../json.ts";
import { decodeUtf8, readRecords, type StreamRecord } from "./record-reader.ts";

/** The object of a line, or its error as a predicate ("is not valid JSON"). */
export type NdjsonRecord = { readonly value: JsonObject } | { readonly error: string };

/** Yields the records of `chunks` and skips blank lines. */
export function readNdjson(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<StreamRecord<NdjsonRecord>> {
  return readRecords(chunks, (text, from, isLast) => {
    const newline = text.indexOf("\n", from);
    if (newline === -1 && !isLast) return null;
    const end = newline === -1 ? text.length : newline + 1;
    return { content: toRecord(decodeUtf8(text.slice(from, end))), end, lines: 1 };
  });
}

function toRecord(line: string | null): NdjsonRecord | null {
  if (line === null) return { error: "is not valid UTF-8" };
  if (line.trim() === "") return null;
  try {
    const value: unknown = JSON.parse(line);
    return isObject(value) ? { value } : { error: "is not a JSON object" };
  } catch {
    return { error: "is not valid JSON" };
  }
}
