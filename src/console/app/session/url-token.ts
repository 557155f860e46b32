/**
 * The token of a link from an e-mail. It comes in the URL fragment, which is not sent to servers, and is removed from
 * the URL before anything else runs, so that neither history nor screenshots contain it.
 */
import { parseUrlToken, TOKEN_PREFIX } from "./url-token.parse.ts";

let capturedToken: string | null = null;

/** Call it before anything else. */
export function captureUrlToken(): void {
  if (window.location.hash.startsWith(TOKEN_PREFIX)) {
    capturedToken = parseUrlToken(window.location.hash);
    window.history.replaceState(null, "", window.location.pathname + window.location.search);
  }
  // Pasting a second link into the same tab changes only the fragment, which does not reload the page.
  window.addEventListener("hashchange", () => {
    if (window.location.hash.startsWith(TOKEN_PREFIX)) window.location.reload();
  });
}

/** Null if the page was opened without a token. */
export function getUrlToken(): string | null {
  return capturedToken;
}
