/** Splits a byte stream into records, each with the line it starts on. Buffers at most one record and one chunk. */
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
 * Parses the record at offset `from`. Returns null if it may continue in the next chunk; never with `isLast`, which marks
 * the last bytes of the stream.
 */
export type RecordParser<Content> = (
  bytes: Buffer,
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
const BYTE_ORDER_MARK = Buffer.from("\uFEFF");

/** Yields the records of `chunks` and skips a leading byte order mark. Throws BadRequestException for a record over 1 MiB. */
export async function* readRecords<Content>(
  chunks: AsyncIterable<Uint8Array>,
  parse: RecordParser<Content>,
): AsyncGenerator<StreamRecord<Content>> {
  const splitter = new RecordSplitter(parse);
  for await (const chunk of chunks) yield* splitter.push(chunk, false);
  yield* splitter.push(Buffer.alloc(0), true);
}

class RecordSplitter<Content> {
  readonly #parse: RecordParser<Content>;
  #bytes = Buffer.alloc(0);
  #line = 1;
  #isAtStart = true;

  constructor(parse: RecordParser<Content>) {
    this.#parse = parse;
  }

  *push(chunk: Uint8Array, isLast: boolean): Generator<StreamRecord<Content>> {
    const bytes = this.#bytes.length > 0 ? Buffer.concat([this.#bytes, chunk]) : Buffer.from(chunk);
    let from = this.#isAtStart ? this.#skipByteOrderMark(bytes, isLast) : 0;
    while (!this.#isAtStart && from < bytes.length) {
      const isTooLong = !isLast && bytes.length - from > MAX_RECORD_BYTES;
      const match = this.#parse(bytes, from, isLast || isTooLong);
      if (match === null) break;
      if (isTooLong && match.end === bytes.length) throw lineTooLong(this.#line);
      const { content } = match;
      if (content !== null) yield { line: this.#line, content };
      this.#line += match.lines;
      from = match.end;
    }
    this.#bytes = bytes.subarray(from);
  }

  /** Returns the offset of the first record. Stays at the start until enough bytes have arrived to detect a byte order mark. */
  #skipByteOrderMark(bytes: Buffer, isLast: boolean): number {
    if (bytes.length < BYTE_ORDER_MARK.length && !isLast) return 0;
    this.#isAtStart = false;
    const hasMark = bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
    return hasMark ? BYTE_ORDER_MARK.length : 0;
  }
}

function lineTooLong(line: number): AppError {
  return new AppError(
    "BadRequestException",
    `Line ${line} is longer than 1 MiB; a job never is, so this is not a file of jobs`,
  );
}
