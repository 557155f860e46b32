/** Times between PostgreSQL's text and ISO 8601, and spans of time as people write them. */

const UNITS_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** `500ms`, `5s`, `30m`, `2h` or `1d` in milliseconds; null where it is none of these. */
export function parseDuration(text: string): number | null {
  const [, amount, unit] = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text) ?? [];
  return amount === undefined ? null : Number(amount) * UNITS_MS[unit as keyof typeof UNITS_MS];
}

/**
 * A timestamptz of a session in UTC, as PostgreSQL writes it (`2026-11-21 12:50:43.1+00`, or with `T` and `+00:00` in
 * jsonb), as ISO 8601 with milliseconds (`2026-11-21T12:50:43.100Z`). By slicing: a list holds two hundred of them.
 */
export function toIsoTime(text: string): string {
  const zone = text.indexOf("+", 19);
  const fraction = text.slice(20, zone).padEnd(3, "0");
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${fraction}Z`;
}
