/** Cursors: a place in an ordered list, as text that a caller hands back untouched. Versioned, checked, at most 512 bytes. */
import { z } from "zod";

const MAX_LENGTH = 512;
const VERSION = 1;
const idShape = z.tuple([z.uuid()]);

/** `values` as a cursor for lists of the kind `kind` (an order's name, say): a cursor of one kind is refused by another. */
export function encodeCursor(kind: string, values: readonly unknown[]): string {
  return Buffer.from(JSON.stringify([VERSION, kind, ...values])).toString("base64url");
}

/** What `encodeCursor` was given, checked against `shape`; null where the text is no cursor of this kind. */
export function decodeCursor<Shape extends z.ZodType>(
  kind: string,
  shape: Shape,
  text: string,
): z.output<Shape> | null {
  if (text.length > MAX_LENGTH || !/^[\w-]+$/.test(text)) return null;
  try {
    const bytes = Buffer.from(text, "base64url");
    // The decoder passes over what does not belong; a cursor is good as it came, or not at all.
    if (bytes.toString("base64url") !== text) return null;
    const [version, cursorKind, ...values] = z.array(z.unknown()).parse(JSON.parse(bytes.toString()));
    if (version !== VERSION || cursorKind !== kind) return null;
    return shape.parse(values);
  } catch {
    return null;
  }
}

/** The uuid after which a list goes on that its ids put in order; null where `text` is no cursor of this kind. */
export function decodeIdCursor(kind: string, text: string): string | null {
  return decodeCursor(kind, idShape, text)?.[0] ?? null;
}
