/**
 * Live or test mode. A tab keeps its mode when it is reloaded; a new tab starts in the mode that the user chose last. Both are
 * stored per user.
 */
import { readItem, writeItem } from "../storage.ts";

/** `test` shows and changes only test data. */
export type Mode = "live" | "test";

const keyOf = (userId: string): string => `waymark-mode:${userId}`;

export function readMode(userId: string): Mode {
  const key = keyOf(userId);
  return (readItem("sessionStorage", key) ?? readItem("localStorage", key)) === "test" ? "test" : "live";
}

export function saveMode(userId: string, mode: Mode): void {
  writeItem("sessionStorage", keyOf(userId), mode);
  writeItem("localStorage", keyOf(userId), mode);
}
