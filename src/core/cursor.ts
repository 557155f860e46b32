/** Pagination cursors: base64url of JSON with a version and the list's kind, at most 512 characters. */
import { z } from "zod";

const MAX_LENGTH = 512;
const VERSION = 1;
const idShape = z.tuple([z.uuid()]);

/** Encodes the sort values of a row. `kind` names the list and its order; `decodeCursor` rejects cursors of another kind. */
export function encodeCursor(kind: string, values: readonly unknown[]): string {
  return Buffer.from(JSON.stringify([VERSION, kind, ...values])).toString("base64url");
}

/** Returns the values passed to `encodeCursor`, validated by `shape`, or null if `text` is not a cursor of this kind. */
export function decodeCursor<Shape extends z.ZodType>(
  kind: string,
  shape: Shape,
  text: string,
): z.output<Shape> | null {
  if (text.length > MAX_LENGTH) return null;
  try {
    const bytes = Buffer.from(text, "base64url");
    // Node's decoder ignores invalid characters; accept only the exact text that we encoded.
    if (bytes.toString("base64url") !== text) return null;
    const [version, cursorKind, ...values] = z.array(z.unknown()).parse(JSON.parse(bytes.toString()));
    if (version !== VERSION || cursorKind !== kind) return null;
    return shape.parse(values);
  } catch {
    return null;
  }
}

/** Returns the UUID in a cursor of a list ordered by id, or null if `text` is not a cursor of this kind. */
export function decodeIdCursor(kind: string, text: string): string | null {
  return decodeCursor(kind, idShape, text)?.[0] ?? null;
}

export interface ListCursor<Row, Position = string> {
  readonly encode: (row: Row) => string;
  /** Returns the position of the row, such as its UUID, or null if `text` is not a cursor of this list. */
  readonly decode: (text: string) => Position | null;
}

/** Returns the cursors of a list whose position is a row's id. */
export function idCursor(kind: string): ListCursor<{ readonly id: string }> {
  return {
    encode: ({ id }) => encodeCursor(kind, [id]),
    decode: (text) => decodeIdCursor(kind, text),
  };
}
