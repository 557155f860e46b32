/** Formats request and response data for display. */
import { formatDecimals } from "../../app/formats.ts";

/** Pretty-prints JSON; returns other text unchanged. */
export function formatBody(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

export function formatHeaders(headers: readonly { readonly name: string; readonly value: string }[]): string {
  return headers.map(({ name, value }) => `${name}: ${value}`).join("\n");
}

/** `8.4 ms`, `312 ms`, `4.21 s`. */
export function formatDuration(ms: number): string {
  if (ms >= 1_000) return `${formatDecimals(ms / 1_000, 2)} s`;
  return `${formatDecimals(ms, ms < 10 ? 1 : 0)} ms`;
}

/** The first `maxLength` characters; `isCut` is true if there are more. */
export function truncate(text: string, maxLength: number): { shown: string; isCut: boolean } {
  return { shown: text.slice(0, maxLength), isCut: text.length > maxLength };
}
