/** The headers of a response that the delivery log keeps. */

/** By lower-case name, each truncated at 1,024 characters. */
export type ResponseHeaders = Readonly<Record<string, string>>;

const STORED_HEADERS = [
  "content-type",
  "content-length",
  "content-encoding",
  "date",
  "location",
  "retry-after",
  "server",
  "x-request-id",
] as const;
const MAX_HEADER_VALUE_LENGTH = 1_024;
export function storedHeaders(headers: Record<string, string | string[] | undefined>): ResponseHeaders {
  const stored: Record<string, string> = {};
  for (const name of STORED_HEADERS) {
    const value = headers[name];
    if (value === undefined) continue;
    const text = typeof value === "string" ? value : (value[0] ?? "");
    stored[name] = text.length > MAX_HEADER_VALUE_LENGTH ? text.slice(0, MAX_HEADER_VALUE_LENGTH) : text;
  }
  return stored;
}
