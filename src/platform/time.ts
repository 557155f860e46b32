/** Times between PostgreSQL's text and ISO 8601. */

/**
 * A timestamptz of a session in UTC, as PostgreSQL writes it (`2026-11-21 12:50:43.1+00`, or with `T` and `+00:00` in
 * jsonb), as ISO 8601 with milliseconds (`2026-11-21T12:50:43.100Z`). By slicing: a list holds two hundred of them.
 */
export function toIsoTime(text: string): string {
  const zone = text.indexOf("+", 19);
  const fraction = text.slice(20, zone).padEnd(3, "0");
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${fraction}Z`;
}
