/** Parses the token in the URL fragment of a link from an e-mail. */

export const TOKEN_PREFIX = "#token=";

/** Null if there is no token, or if a mail program broke its percent-encoding. */
export function parseUrlToken(hash: string): string | null {
  if (!hash.startsWith(TOKEN_PREFIX)) return null;
  try {
    return decodeURIComponent(hash.slice(TOKEN_PREFIX.length));
  } catch {
    return null;
  }
}
