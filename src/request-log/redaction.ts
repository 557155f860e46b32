/** Redacts and truncates bodies for the request log. Only fields known to contain no personal data or secrets stay readable. */

export const MAX_LOGGED_BODY_BYTES = 4_096;
const MAX_DEPTH = 16;
const MASK = "***";

const encodedBytes = Buffer.alloc(MAX_LOGGED_BODY_BYTES);

/**
 * Fields whose values stay readable, normalised to lower case without `_`, so that REST and GraphQL names match. All other
 * values are masked: an allow list can't miss a sensitive field.
 */
const ALLOWED_FIELDS = new Set(
  `request_id success code message location field current_etag error_code doc_url
  marking_number marking_numbers batch_number group_code piece_quantity labels pts weight
  scheduled_date scheduled_delivery_date scheduled_delivery_pending normalized_status provider_status status failure_reason
  query operation_name path line column cost limit
  id ids job_id endpoint_id key_id delivery_id event_id organization_id agent_id contractor_id
  first last after before order_by direction type types event_type event_types scope scopes days since until
  which only pending grace_hours
  error_policy dry_run if_version version pending_policy max_in_flight per_second expires_at`
    .split(/\s+/)
    .map(normalizeFieldName),
);

/** Text that may contain values in quotes: GraphQL queries and error messages. */
const FIELDS_WITH_QUOTED_TEXT = new Set(["query", "message"]);

function normalizeFieldName(name: string): string {
  return name.replaceAll(/[_-]/g, "").toLowerCase();
}

/** Returns `value` as redacted JSON, at most MAX_LOGGED_BODY_BYTES; null for undefined and null. */
export function redactJson(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  // More values would not fit, as each takes two characters or more.
  const text = JSON.stringify(redact(value, "", 0, { values: MAX_LOGGED_BODY_BYTES / 2 }));
  // `write` splits no character. A slice of the text would keep all of it in memory.
  return encodedBytes.toString("utf8", 0, encodedBytes.write(text));
}

const MAX_NAMES = 20;
/** A Marking Number, a key or a part of a value can be in the place of a name. */
const WORD = /^[a-z_.[\]-]{1,32}$/i;

/** Returns the first 20 names, with `***` for each that is no word. */
export function redactNames(names: readonly string[]): string[] {
  return names.slice(0, MAX_NAMES).map((name) => (WORD.test(name) ? name : MASK));
}

/** Items of a list are redacted by its name. `budget`: the values left for the whole body, to bound the cost. */
function redact(value: unknown, name: string, depth: number, budget: { values: number }): unknown {
  budget.values -= 1;
  if (typeof value !== "object" || value === null) return redactScalar(value, name);
  if (depth >= MAX_DEPTH) return MASK;
  const most = Math.max(budget.values, 0);
  if (Array.isArray(value)) return value.slice(0, most).map((item) => redact(item, name, depth + 1, budget));
  const members = Object.entries(value).slice(0, most);
  return Object.fromEntries(members.map(([key, member]) => [key, redact(member, key, depth + 1, budget)]));
}

function redactScalar(value: unknown, name: string): unknown {
  if (typeof value === "boolean" || value === null) return value;
  const fieldName = normalizeFieldName(name.slice(0, 64));
  if (!ALLOWED_FIELDS.has(fieldName)) return MASK;
  if (typeof value !== "string") return value;
  const text = value.slice(0, MAX_LOGGED_BODY_BYTES);
  return FIELDS_WITH_QUOTED_TEXT.has(fieldName) ? redactQuoted(text) : text;
}

/** GraphQL block strings, strings and comments. An unterminated one extends to the end of the text. */
const QUOTED_PATTERN = /"""(?:[^"\\]|\\(?:""")?|"(?!""))*(?:"""|$)|"(?:\\.|[^"\\\n\r])*(?:"|$)|#[^\n\r]*/g;

function redactQuoted(text: string): string {
  return text.replace(QUOTED_PATTERN, (match) => (match.startsWith("#") ? "#" : `"${MASK}"`));
}
