/** A place in the feed as a cursor: the same for everybody who reads it, by whatever door. */
import { z } from "zod";
import { decodeCursor, encodeCursor } from "../platform/cursor.ts";
import type { FeedPosition, Place } from "./event.position.ts";

const KIND = "events";
const shape = z.tuple([z.string().regex(/^\d{1,19}$/), z.string().regex(/^\d{1,18}$/)]);

export function feedCursorAt({ transactionId, position }: FeedPosition): string {
  return encodeCursor(KIND, [transactionId, position]);
}

export function feedCursor({ transaction_id: transactionId, position }: Place): string {
  return feedCursorAt({ transactionId, position });
}

/** Null where `text` is no cursor of the feed. */
export function readFeedCursor(text: string): FeedPosition | null {
  const decoded = decodeCursor(KIND, shape, text);
  return decoded && { transactionId: decoded[0], position: decoded[1] };
}
