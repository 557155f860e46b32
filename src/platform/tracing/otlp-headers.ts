/** `OTEL_EXPORTER_OTLP_HEADERS`: `name=value` by commas, values percent-encoded, as OpenTelemetry has it. */

const HEADER_NAME = /^[!#$%&'*+\-.^_`|~\w]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e]*$/;

/** Null where one of them could not be sent. */
export function parseOtlpHeaders(text: string): Record<string, string> | null {
  const headers: Record<string, string> = {};
  for (const pair of text.split(",").filter((part) => part.trim() !== "")) {
    const at = pair.indexOf("=");
    const name = pair.slice(0, Math.max(0, at)).trim().toLowerCase();
    const value = decodeValue(pair.slice(at + 1).trim());
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
