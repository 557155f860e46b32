/** Parses `OTEL_EXPORTER_OTLP_HEADERS`: comma-separated `name=value` pairs with percent-encoded values. */

const HEADER_NAME = /^[!#$%&'*+\-.^_`|~\w]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e]*$/;

/** Returns the headers by lower-case name, or null if one is not a valid header. */
export function parseOtlpHeaders(text: string): Record<string, string> | null {
  const headers: Record<string, string> = {};
  for (const pair of text.split(",").filter((part) => part.trim() !== "")) {
    const separator = pair.indexOf("=");
    const name = pair.slice(0, Math.max(0, separator)).trim().toLowerCase();
    const value = decodeValue(pair.slice(separator + 1).trim());
    if (!HEADER_NAME.test(name) || value === null || !HEADER_VALUE.test(value)) return null;
    headers[name] = value;
  }
  return headers;
}

function decodeValue(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
