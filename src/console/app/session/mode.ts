/**
 * Live or test mode, or what an operator's session views. A tab keeps its mode when it is reloaded; a new tab starts in the mode
 * that the user chose last, but never in `partner`. Both are stored per user.
 */
import { readItem, writeItem } from "../storage.ts";

const modes = ["live", "test", "partner"] as const;
/** `test` shows and changes only test data. `partner` shows an operator what a viewer of an organisation sees. */
export type Mode = (typeof modes)[number];

const keyOf = (userId: string): string => `waymark-mode:${userId}`;

export function readMode(userId: string): Mode {
  const key = keyOf(userId);
  const stored = readItem("sessionStorage", key) ?? readItem("localStorage", key);
  return modes.find((mode) => mode === stored) ?? "live";
}

export function saveMode(userId: string, mode: Mode): void {
  writeItem("sessionStorage", keyOf(userId), mode);
  if (mode !== "partner") writeItem("localStorage", keyOf(userId), mode);
}
