/** Splits a byte stream into records, each with the line it starts on. Buffers at most one record and one chunk. */
import { isUtf8 } from "node:buffer";
import { AppError } from "../errors.ts";

export interface RecordMatch<Content> {
  /** Null for a blank line. */
  readonly content: Content | null;
  /** The offset of the next record. */
  readonly end: number;
  /** The number of physical lines in this record. */
  readonly lines: number;
}

/**
 * Parses the record at offset `from` of a text with one character per byte. Returns null if it may continue in the next chunk; never
 * with `isLast`, which marks the end of the stream.
 */
export type RecordParser<Content> = (
  text: string,
  from: number,
  isLast: boolean,
) => RecordMatch<Content> | null;

export interface StreamRecord<Content> {
  /** The physical line that the record starts on, from 1. */
  readonly line: number;
  readonly content: Content;
}

/** More than ten times the size of a job whose fields all have their maximum length. */
const MAX_RECORD_BYTES = 1_048_576;
const BYTE_ORDER_MARK = Buffer.from("\uFEFF").toString("latin1");

/** Yields the records of `chunks` and skips a leading byte order mark. Throws BadRequestException for a record over 1 MiB. */
export async function* readRecords<Content>(
  chunks: AsyncIterable<Uint8Array>,
  parse: RecordParser<Content>,
): AsyncGenerator<StreamRecord<Content>> {
  let text = "";
  let line = 1;
  let isAtStart = true;

  function* parseBuffered(isLast: boolean): Generator<StreamRecord<Content>> {
    if (text.length < BYTE_ORDER_MARK.length && !isLast) return;
    let from = isAtStart && text.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0;
    isAtStart = false;
    while (from < text.length) {
      const isTooLong = !isLast && text.length - from > MAX_RECORD_BYTES;
      const match = parse(text, from, isLast || isTooLong);
      if (match === null) break;
      if (isTooLong && match.end === text.length)
        throw new AppError(
          "BadRequestException",
          `Line ${line} is longer than 1 MiB; a job never is, so this is not a file of jobs`,
        );
      const { content } = match;
      if (content !== null) yield { line, content };
      line += match.lines;
      from = match.end;
    }
    text = text.slice(from);
  }

  for await (const chunk of chunks) {
    text += Buffer.from(chunk).toString("latin1");
    yield* parseBuffered(false);
  }
  yield* parseBuffered(true);
}

/** Decodes a part of the text that a parser gets. Returns null if its bytes are not UTF-8. */
export function decodeUtf8(text: string): string | null {
  const bytes = Buffer.from(text, "latin1");
  return isUtf8(bytes) ? bytes.toString() : null;
}
