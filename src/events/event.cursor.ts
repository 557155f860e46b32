/** A place in the feed as a cursor: the same for everybody who reads it, by whatever door. */
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

/** Null where `text` is no cursor of the feed. */
export function readFeedCursor(text: string): FeedPosition | null {
  const decoded = decodeCursor(CURSOR_KIND, cursorSchema, text);
  return decoded && { transactionId: decoded[0], position: decoded[1] };
}
