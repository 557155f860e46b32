/** How a mail's link carries its secret: in the fragment. */

export const TOKEN_PREFIX = "#token=";

/** Null: there is none, or one that a mail program has mangled beyond reading (a `%` that begins nothing). */
export function parseUrlToken(hash: string): string | null {
  if (!hash.startsWith(TOKEN_PREFIX)) return null;
  try {
    return decodeURIComponent(hash.slice(TOKEN_PREFIX.length));
  } catch {
    return null;
  }
}
