/** Splits a stream of UTF-8 bytes into records, each with the line it starts on, and holds little more than one of them. */
import { AppError } from "../errors.ts";

/** A record found in `bytes`: what it holds (null: nothing, a blank line), and where and how many lines later the next is. */
export interface RecordMatch<Content> {
  readonly content: Content | null;
  readonly end: number;
  readonly lines: number;
}

/**
 * Finds the record that begins at `from`; null where it may go on after the last byte. With `isLast` there are no more
 * bytes to come, and the answer is never null.
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
  /** True if the file begins with a byte order mark. */
  readonly hasByteOrderMark: boolean;
}

/** More than ten times what a job with every field at its longest takes. */
const MAX_RECORD_BYTES = 1_048_576;
const BYTE_ORDER_MARK = Buffer.from("\uFEFF");

/** The records of `chunks`, whose first three bytes may be a byte order mark. Throws BadRequestException at a line over 1 MiB. */
export async function* readRecords<Content>(
  chunks: AsyncIterable<Uint8Array>,
  parse: RecordParser<Content>,
): AsyncGenerator<StreamRecord<Content>> {
  const splitter = new RecordSplitter(parse);
  for await (const chunk of chunks) yield* splitter.push(chunk, false);
  yield* splitter.push(Buffer.alloc(0), true);
}

class RecordSplitter<Content> {
  readonly #find: RecordParser<Content>;
  #bytes = Buffer.alloc(0);
  #line = 1;
  #isAtStart = true;
  #hasByteOrderMark = false;

  constructor(find: RecordParser<Content>) {
    this.#find = find;
  }

  *push(chunk: Uint8Array, isLast: boolean): Generator<StreamRecord<Content>> {
    const bytes = this.#bytes.length > 0 ? Buffer.concat([this.#bytes, chunk]) : Buffer.from(chunk);
    let from = this.#isAtStart ? this.#skipByteOrderMark(bytes, isLast) : 0;
    while (!this.#isAtStart && from < bytes.length) {
      const isTooLong = !isLast && bytes.length - from > MAX_RECORD_BYTES;
      const found = this.#find(bytes, from, isLast || isTooLong);
      if (found === null) break;
      if (isTooLong && found.end === bytes.length) throw lineTooLong(this.#line);
      const { content } = found;
      if (content !== null) yield { line: this.#line, content, hasByteOrderMark: this.#hasByteOrderMark };
      this.#line += found.lines;
      from = found.end;
    }
    this.#bytes = bytes.subarray(from);
  }

  /** Where the text begins; it stays unknown while the first bytes may still become a byte order mark. */
  #skipByteOrderMark(bytes: Buffer, isLast: boolean): number {
    if (bytes.length < BYTE_ORDER_MARK.length && !isLast) return 0;
    this.#isAtStart = false;
    this.#hasByteOrderMark = bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
    return this.#hasByteOrderMark ? BYTE_ORDER_MARK.length : 0;
  }
}

function lineTooLong(line: number): AppError {
  return new AppError("BadRequestException", `Line ${line} is longer than 1 MiB, so this is no file of jobs`);
}
