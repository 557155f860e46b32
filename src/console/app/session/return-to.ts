/** The `next` parameter: the page to open after signing in. */
import { textParam, type RawSearch } from "../search-params.ts";

export interface ReturnToSearch {
  next?: string;
}

export interface SignInSearch extends ReturnToSearch {
  /** Why single sign-on failed. */
  error?: string;
}

export function parseSignInSearch(search: RawSearch): SignInSearch {
  const error = textParam(search["error"], 40);
  return { ...parseReturnTo(search), ...(error !== undefined && { error }) };
}

/** Accepts only paths of this origin. Rejects tricks such as `//host`, `/\\host`, or a tab that browsers drop. */
export function parseReturnTo(search: RawSearch): ReturnToSearch {
  const next = textParam(search["next"], 2_000);
  if (next === undefined || next === "/" || !next.startsWith("/")) return {};
  const placeholderOrigin = "http://here.invalid";
  return URL.canParse(next, placeholderOrigin) &&
    new URL(next, placeholderOrigin).origin === placeholderOrigin
    ? { next }
    : {};
}
