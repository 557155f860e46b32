/**
 * Reads texts that the console's files for spreadsheets escaped so that no spreadsheet runs them as formulas. Depending on its
 * locale, a spreadsheet splits cells at semicolons or tabs and ignores quotes, so each part of a text counts, not only its beginning.
 */

/**
 * Matches the start of a part with its spaces and quotes, then, for a formula, its apostrophes and the formula character.
 * The first group is greedy and never backtracks, so a long run of separators takes linear time.
 */
const CELL_PART = /((?:[;\t\r\n]|^)[\s"]*)(?:('*)([=+\-@\uFF1D\uFF0B\uFF0D\uFF20]))?/g;

/**
 * Adds an apostrophe only where one already stands before a formula. For files that no spreadsheet opens: formulas stay unchanged.
 * `unescapeFormulas` reverses both ways of writing, so a reader need not know who wrote the file.
 */
export function escapeApostrophes(text: string): string {
  return text.replace(CELL_PART, (part: string, start: string, apostrophes: string | undefined, sign = "") =>
    apostrophes ? `${start}'${apostrophes}${sign}` : part,
  );
}

/** Removes one apostrophe before each formula in `text`. */
export function unescapeFormulas(text: string): string {
  return text.replace(CELL_PART, (part: string, start: string, apostrophes: string | undefined, sign = "") =>
    apostrophes === undefined ? part : `${start}${apostrophes.slice(1)}${sign}`,
  );
}
