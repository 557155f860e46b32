/** Where somebody was going when they were asked to sign in. */
import { text, type RawSearch } from "./search.ts";

export interface NextSearch {
  next?: string;
}

/** Only a path of the console: never another site, however it is written (`//`, `/\\`, or a tab between that browsers drop). */
export function nextSearch(search: RawSearch): NextSearch {
  const next = text(search["next"], 2_000);
  if (next === undefined || next === "/" || !next.startsWith("/")) return {};
  const here = "http://here.invalid";
  return URL.canParse(next, here) && new URL(next, here).origin === here ? { next } : {};
}
