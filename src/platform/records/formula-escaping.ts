/**
 * Keeps texts in a CSV file from running as formulas in a spreadsheet. Depending on its locale, a spreadsheet splits the file
 * at semicolons or tabs and ignores our quotes, so each part of a text is checked, not only its beginning.
 */

/**
 * The beginning of a part, with spaces and quotes; then, if it is a formula, apostrophes and the formula character. The first
 * group always matches as much as it can, so long runs of separators take linear time.
 */
const CELL_PART = /((?:[;\t\r\n]|^)[\s"]*)(?:('*)([=+\-@\uFF1D\uFF0B\uFF0D\uFF20]))?/g;

/** Puts one apostrophe before each formula in `text`. `fromSpreadsheetText` returns the original. */
export function escapeFormulas(text: string): string {
  return text.replace(CELL_PART, (part: string, start: string, apostrophes: string | undefined, sign = "") =>
    apostrophes === undefined ? part : `${start}'${apostrophes}${sign}`,
  );
}

/** Removes one apostrophe before each formula in `text`. */
export function unescapeFormulas(text: string): string {
  return text.replace(CELL_PART, (part: string, start: string, apostrophes: string | undefined, sign = "") =>
    apostrophes === undefined ? part : `${start}${apostrophes.slice(1)}${sign}`,
  );
}
