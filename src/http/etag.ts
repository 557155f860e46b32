/** Comparison of ETags for conditional requests. */

/** True if an `If-None-Match` header is `*` or names `etag`, by the weak comparison of RFC 9110, which ignores `W/`. */
export function matchesEtag(header: string, etag: string): boolean {
  if (header.trim() === "*") return true;
  const opaque = etag.replace(/^W\//, "");
  return (header.match(/"[^"]*"/g) ?? []).some((tag) => tag === opaque);
}
