/** Bodies and headers as they are read best. */

/** JSON with its lines and indents; everything else as it is. */
export function prettyBody(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

export function headerLines(headers: readonly { readonly name: string; readonly value: string }[]): string {
  return headers.map(({ name, value }) => `${name}: ${value}`).join("\n");
}

/** `8.4 ms`, `312 ms`, `4.21 s`. */
export function duration(ms: number): string {
  if (ms >= 1_000) return `${decimals(ms / 1_000, 2)} s`;
  return `${decimals(ms, ms < 10 ? 1 : 0)} ms`;
}

function decimals(value: number, most: number): string {
  return value.toLocaleString(undefined, { maximumFractionDigits: most });
}

/** The first `most` characters, and whether there are more. */
export function beginning(text: string, most: number): { shown: string; isCut: boolean } {
  return { shown: text.slice(0, most), isCut: text.length > most };
}
