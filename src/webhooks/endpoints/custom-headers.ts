/** Headers that an endpoint's owner adds to its webhooks: which may be set, and how the log shows them. */

/** What we set ourselves, what HTTP/1.1 keeps for the connection, and what would make a webhook pass for something else. */
const RESERVED = new Set([
  "accept-encoding",
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "date",
  "expect",
  "forwarded",
  "host",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "user-agent",
  "via",
]);
/** `webhook-*` is Standard Webhooks', the others tell a receiver behind a proxy who called. */
const RESERVED_PREFIXES = ["webhook-", "x-forwarded-", "x-real-ip"];

const TOKEN = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;
const PRINTABLE = /^[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?$/;
const MAX_NAME_LENGTH = 100;
const MAX_VALUE_LENGTH = 2_048;
const MASK = "********";

/** Why a custom header cannot be sent, as a predicate (`must …`, `cannot …`); null where it can. */
export function headerProblem(name: string, value: string): string | null {
  const lower = name.toLowerCase();
  if (name.length > MAX_NAME_LENGTH || !TOKEN.test(name))
    return `must have a name of 1 to ${MAX_NAME_LENGTH} letters, digits or hyphens, such as X-Api-Key`;
  if (RESERVED.has(lower) || RESERVED_PREFIXES.some((prefix) => lower.startsWith(prefix)))
    return `cannot be set: ${lower} belongs to the delivery itself`;
  if (value.length > MAX_VALUE_LENGTH) return `cannot be longer than ${MAX_VALUE_LENGTH} characters`;
  if (!PRINTABLE.test(value))
    return "must be printable ASCII, not empty, without line breaks and without spaces at its ends";
  return null;
}

/** The same names with nothing to be read in their values: they are mostly credentials. */
export function maskHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const masked: Record<string, string> = {};
  for (const name in headers) masked[name] = MASK;
  return masked;
}
