/** Where somebody was going when they were asked to sign in. */
import { textParam, type RawSearch } from "../search-params.ts";

export interface ReturnToSearch {
  next?: string;
}

/** Only a path of the console: never another site, however it is written (`//`, `/\\`, or a tab between that browsers drop). */
export function parseReturnTo(search: RawSearch): ReturnToSearch {
  const next = textParam(search["next"], 2_000);
  if (next === undefined || next === "/" || !next.startsWith("/")) return {};
  const placeholderOrigin = "http://here.invalid";
  return URL.canParse(next, placeholderOrigin) &&
    new URL(next, placeholderOrigin).origin === placeholderOrigin
    ? { next }
    : {};
}
