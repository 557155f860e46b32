/** Encodes and decodes feed cursors. They are the same for every principal, in REST and GraphQL. */
import { z } from "zod";
import { decodeCursor, encodeCursor } from "../platform/cursor.ts";
import type { FeedPosition, FeedPositionRow } from "./event.position.ts";

const CURSOR_KIND = "events";
const cursorSchema = z.tuple([z.string().regex(/^\d{1,19}$/), z.string().regex(/^\d{1,18}$/)]);

export function feedCursorAt({ transactionId, position }: FeedPosition): string {
  return encodeCursor(CURSOR_KIND, [transactionId, position]);
}

export function feedCursor({ transaction_id: transactionId, position }: FeedPositionRow): string {
  return feedCursorAt({ transactionId, position });
}

/** Returns null if `text` is not a feed cursor. */
export function readFeedCursor(text: string): FeedPosition | null {
  const decoded = decodeCursor(CURSOR_KIND, cursorSchema, text);
  return decoded && { transactionId: decoded[0], position: decoded[1] };
}
