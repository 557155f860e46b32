/** The cursors of the feed and of a history. A cursor is the same for every principal, in REST and GraphQL. */
import { z } from "zod";
import { decodeCursor, encodeCursor, type ListCursor } from "../core/cursor.ts";

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

/** Of a history, by the `sequence` of an event. */
export const historyCursor: ListCursor<{ readonly sequence: number }, number> = {
  encode: ({ sequence }) => encodeCursor("history", [sequence]),
  decode: (text) =>
    decodeCursor("history", z.tuple([z.int().positive().max(2_147_483_647)]), text)?.[0] ?? null,
};
