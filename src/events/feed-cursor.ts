/** Feed positions and cursors. A cursor is the same for every principal, in REST and GraphQL. */
import { z } from "zod";
import { decodeCursor, encodeCursor } from "../core/cursor.ts";

/** A position in the feed: feed sequence and position of an event, both as decimal text. */
export interface FeedPosition {
  transaction_id: string;
  position: string;
}

const CURSOR_KIND = "events";
const cursorSchema = z.tuple([z.string().regex(/^\d{1,19}$/), z.string().regex(/^\d{1,18}$/)]);

/** The cursor at which `feed` returns nothing and the position of the newest event. */
export const LATEST = "latest";

export function feedCursor({ transaction_id: transactionId, position }: FeedPosition): string {
  return encodeCursor(CURSOR_KIND, [transactionId, position]);
}

/** Returns null if `text` is not a feed cursor. */
export function readFeedCursor(text: string): FeedPosition | null {
  const decoded = decodeCursor(CURSOR_KIND, cursorSchema, text);
  return decoded && { transaction_id: decoded[0], position: decoded[1] };
}
