/** Where somebody was going when they were asked to sign in. */
import { text, type RawSearch } from "./search.ts";

export interface NextSearch {
  next?: string;
}

/** Only a path of the console: never another site, however it is written. */
export function nextSearch(search: RawSearch): NextSearch {
  const next = text(search["next"], 2_000);
  const isPath = next !== undefined && /^\/(?![/\\])/.test(next) && next !== "/";
  return isPath ? { next } : {};
}
