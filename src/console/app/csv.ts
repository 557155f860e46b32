/** CSV for spreadsheets. Excel needs the byte order mark to read UTF-8. */
export const BYTE_ORDER_MARK = "\uFEFF";

/** A line with its end. A text that a spreadsheet would run as a formula gets an apostrophe, which an import removes. */
export function csvLine(cells: readonly (string | number)[], delimiter = ","): string {
  const texts = cells.map((cell) => (typeof cell === "number" ? String(cell) : formatText(cell)));
  return `${texts.join(delimiter)}\r\n`;
}

/**
 * Puts an apostrophe before each formula in the text. Some locales make Excel split at semicolons, so a formula after one
 * counts too. The first group always matches as much as it can, so long runs of separators take linear time.
 */
export function escapeFormulas(text: string): string {
  return text.replace(
    /((?:[;\t\r\n]|^)[\s"]*)('*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20])?/g,
    (part: string, start: string, formula?: string) => (formula === undefined ? part : `${start}'${formula}`),
  );
}

function formatText(text: string): string {
  const escaped = escapeFormulas(text);
  return /[",;\t\r\n]/.test(escaped) ? `"${escaped.replaceAll('"', '""')}"` : escaped;
}
