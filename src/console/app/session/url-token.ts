/**
 * The secret of a mail's link. It comes in the address's fragment, which no server sees, and is taken out of the address
 * before anything else happens: neither the history nor a screenshot keeps it.
 */
import { parseUrlToken, TOKEN_PREFIX } from "./url-token.parse.ts";

let capturedToken: string | null = null;

/** To be called first of all. */
export function captureUrlToken(): void {
  if (window.location.hash.startsWith(TOKEN_PREFIX)) {
    capturedToken = parseUrlToken(window.location.hash);
    window.history.replaceState(null, "", window.location.pathname + window.location.search);
  }
  // A second link pasted into the same tab changes the fragment alone, which loads nothing.
  window.addEventListener("hashchange", () => {
    if (window.location.hash.startsWith(TOKEN_PREFIX)) window.location.reload();
  });
}

/** Null: the page was come to without one. */
export function getUrlToken(): string | null {
  return capturedToken;
}
