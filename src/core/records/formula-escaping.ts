/**
 * Prevents a spreadsheet from running texts of a CSV file as formulas. Depending on its locale, a spreadsheet splits cells at
 * semicolons or tabs and ignores quotes, so each part of a text is checked, not only its beginning.
 */

/**
 * Matches the start of a part with its spaces and quotes, then, for a formula, its apostrophes and the formula character.
 * The first group is greedy and never backtracks, so a long run of separators takes linear time.
 */
const CELL_PART = /((?:[;\t\r\n]|^)[\s"]*)(?:('*)([=+\-@\uFF1D\uFF0B\uFF0D\uFF20]))?/g;

/** Puts one apostrophe before each formula in `text`. `unescapeFormulas` reverses it. */
export function escapeFormulas(text: string): string {
  return text.replace(CELL_PART, (part: string, start: string, apostrophes: string | undefined, sign = "") =>
    apostrophes === undefined ? part : `${start}'${apostrophes}${sign}`,
  );
}

/**
 * Adds an apostrophe only where one already stands before a formula. For files that no spreadsheet opens: formulas stay unchanged.
 * `unescapeFormulas` reverses both functions, so a reader need not know which one wrote the file.
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
