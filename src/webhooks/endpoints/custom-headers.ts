/** Custom headers of an endpoint: validation and masking. */
import { badRequest } from "../../core/errors.ts";

/** Headers that Waymark sets, connection headers of HTTP/1.1, and headers that could change what a request means. */
const RESERVED = new Set([
  "accept-encoding",
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "date",
  "expect",
  "forwarded",
  "__proto__",
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
/** `webhook-*` belongs to Standard Webhooks; the others name the client to a receiver behind a proxy. */
const RESERVED_PREFIXES = ["webhook-", "x-forwarded-", "x-real-ip"];

const TOKEN = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;
const PRINTABLE = /^[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?$/;
const MAX_NAME_LENGTH = 100;
const MAX_VALUE_LENGTH = 2_048;
const MASK = "********";

/** Why a custom header is invalid, as text without a subject ("must …", "cannot …"); null if it is valid. */
export function headerProblem(name: string, value: string): string | null {
  const lower = name.toLowerCase();
  if (name.length > MAX_NAME_LENGTH || !TOKEN.test(name))
    return `must have a name of 1 to ${MAX_NAME_LENGTH} letters, digits, hyphens or underscores, such as X-Api-Key`;
  if (RESERVED.has(lower) || RESERVED_PREFIXES.some((prefix) => lower.startsWith(prefix)))
    return `cannot be set: ${lower} is reserved`;
  if (value.length > MAX_VALUE_LENGTH) return `cannot be longer than ${MAX_VALUE_LENGTH} characters`;
  if (!PRINTABLE.test(value))
    return "must be printable ASCII, not empty, without line breaks and without leading or trailing spaces";
  return null;
}

/** Replaces all values with a mask, because most are credentials. */
export function maskHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const masked: Record<string, string> = {};
  for (const name in headers) masked[name] = MASK;
  return masked;
}

/**
 * Returns `headers` with the `stored` value in place of each mask, so that what a response contained can be sent back. Throws
 * BadRequestException for a mask whose header is not stored.
 */
export function unmaskHeaders(
  headers: Readonly<Record<string, string>>,
  stored: () => Readonly<Record<string, string>> = () => ({}),
): Record<string, string> {
  const masked = Object.keys(headers).filter((name) => headers[name] === MASK);
  if (masked.length === 0) return headers;
  const values = new Map(Object.entries(stored()).map(([name, value]) => [name.toLowerCase(), value]));
  const unknown = masked.filter((name) => !values.has(name.toLowerCase()));
  if (unknown.length > 0)
    throw badRequest(
      unknown.map((name) => ({
        location: "body",
        field: `headers.${name}`,
        code: "invalid_value",
        message: "is masked, and no value is stored for it: send the value",
      })),
    );
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      value === MASK ? (values.get(name.toLowerCase()) as string) : value,
    ]),
  );
}

interface CustomHeader {
  readonly name: string;
  readonly value: string;
}

export function toHeaderList(headers: Readonly<Record<string, string>>): CustomHeader[] {
  return Object.entries(headers).map(([name, value]) => ({ name, value }));
}

/** Of a name that is given twice, the last value counts. */
export function headersByName(headers: readonly CustomHeader[]): Record<string, string> {
  return Object.fromEntries(headers.map(({ name, value }) => [name, value]));
}
