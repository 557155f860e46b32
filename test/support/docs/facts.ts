/** Numbers of the documentation and the constants that they state. A fact says which constants a place of a page states. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, WEEK_MS } from "../../../src/core/time.ts";

const root = join(import.meta.dirname, "../../..");

/** A number in all spellings that a page may use. */
export interface Quantity {
  readonly spellings: readonly string[];
}

export interface Fact {
  /** Relative to the repository. */
  readonly page: string;
  /** A heading, or a heading and the first cell of a table row: `Sizes > Batch`. The lead of a page is its title. */
  readonly place: string;
  readonly states: readonly Quantity[];
}

/** Returns the facts of pages in a folder, by page and place. */
export function factsOf(
  folder: string,
  pages: Readonly<Record<string, Readonly<Record<string, readonly Quantity[]>>>>,
): Fact[] {
  return Object.entries(pages).flatMap(([page, places]) =>
    Object.entries(places).map(([place, states]) => ({ page: folder + page, place, states })),
  );
}

const WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
const TIME_UNITS: readonly (readonly [ms: number, ...names: string[]])[] = [
  [1, "ms"],
  [SECOND_MS, "s", "second", "seconds", "seconds'"],
  [MINUTE_MS, "min", "minute", "minutes"],
  [HOUR_MS, "h", "hour", "hours"],
  [DAY_MS, "day", "days"],
];
const SIZE_UNITS = [
  [2 ** 10, "KiB"],
  [2 ** 20, "MiB"],
  [2 ** 30, "GiB"],
] as const;
const UNIT = "(?:%|ms|µs|s|seconds?|min|minutes?|h|hours?|days?|KiB|MiB|GiB|MB)(?![\\w%])";

function spellNumber(value: number): string[] {
  const word = WORDS[value];
  return [value.toLocaleString("en", { maximumFractionDigits: 6 }), String(value), ...(word ? [word] : [])];
}

/** A number, or a constant of a module below `src`: `core/retry-schedule#MAX_ATTEMPTS`. */
type Source = number | string;

/** Returns the number of a constant of a module below `src`. */
export function valueOf(source: Source): number {
  if (typeof source === "number") return source;
  const [file = "", name = ""] = source.split("#");
  return constantIn(`src/${file}.ts`, name);
}

/** A number without a unit of time or size. */
export function count(source: Source): Quantity {
  return { spellings: [...new Set(spellNumber(valueOf(source)))].map((text) => `${text}(?!\\s?${UNIT})`) };
}

export function percent(share: Source): Quantity {
  return { spellings: [`${Number((valueOf(share) * 100).toFixed(6))} %`] };
}

/** A duration of `ms` milliseconds in any unit in which it is whole: `24 h`, `24 hours`, `1 day`, `a day`. */
export function duration(source: Source): Quantity {
  const ms = valueOf(source);
  const units = TIME_UNITS.filter(([size]) => ms % size === 0);
  return {
    spellings: units.flatMap(([size, ...names]) => {
      const numbers = [...spellNumber(ms / size), ...(ms === size ? ["an?"] : [])];
      return names.flatMap((name) => numbers.map((number) => `${number} ?${name}`));
    }),
  };
}

/** A duration that a page rounds up: at least `ms`. */
export function atMost(statedMs: number, ms: number): Quantity {
  if (ms > statedMs) throw new Error(`The documentation says at most ${statedMs} ms; the code says ${ms} ms`);
  return duration(statedMs);
}

export function bytes(source: Source): Quantity {
  const value = valueOf(source);
  return {
    spellings: SIZE_UNITS.filter(([size]) => value % size === 0).map(
      ([size, name]) => `${value / size} ${name}`,
    ),
  };
}

export function read(path: string): string {
  return readFileSync(join(root, path), "utf8");
}

/**
 * Returns the number that a source file assigns to a constant, or to a member of one: `TIMEOUTS_MS.headers`. Throws an error if
 * the file has no such constant. For constants that only their module needs.
 */
export function constantIn(file: string, name: string): number {
  const [constant = "", ...members] = name.split(".");
  let text = read(file);
  for (const [index, part] of [constant, ...members].entries()) {
    const start = index === 0 ? `const ${part}\\b[^=]*=` : `\\b${part}:`;
    const [found, rest] = new RegExp(`${start}\\s*([^]*)$`).exec(text) ?? [];
    if (found === undefined || rest === undefined) throw new Error(`${file} has no constant ${name}`);
    text = rest;
  }
  const [expression = ""] = /^[\w.* ]+/.exec(text) ?? [];
  return evaluate(expression.trim(), `${file}: ${name}`);
}

/** Returns the number that `pattern` captures in a source file, for a number that no constant names. */
export function numberIn(file: string, pattern: RegExp): number {
  const [, digits] = pattern.exec(read(file)) ?? [];
  if (digits === undefined) throw new Error(`${file} has no ${pattern}`);
  return Number(digits.replaceAll("_", ""));
}

const TIMES: Readonly<Record<string, number>> = { SECOND_MS, MINUTE_MS, HOUR_MS, DAY_MS, WEEK_MS };

/** Multiplies numbers and units of time, with powers: `8 * 1024 ** 3`. */
function evaluate(expression: string, name: string): number {
  const factors = expression.split(/(?<!\*)\*(?!\*)/).map((factor) => {
    const [base = "", power = "1"] = factor.split("**").map((part) => part.trim().replaceAll("_", ""));
    return (TIMES[factor.trim()] ?? Number(base)) ** Number(power);
  });
  const value = factors.reduce((product, factor) => product * factor, 1);
  if (Number.isNaN(value)) throw new Error(`${name} is not a number: ${expression}`);
  return value;
}

interface Range {
  readonly start: number;
  readonly end: number;
}

const blank = (text: string): string => text.replaceAll(/[^\n]/g, " ");

/** Replaces code blocks, link targets and comments by spaces, so that positions stay the same. */
function proseOf(page: string): string {
  return page
    .replaceAll(/^ *```[^]*?^ *```$/gm, blank)
    .replaceAll(/\]\([^)]*\)/g, blank)
    .replaceAll(/<[^>\n]+>/g, blank);
}

/** Returns the range of a section or a table row. Null if the page has none. */
function findPlace(prose: string, place: string): Range | null {
  const [heading = "", row] = place.split(" > ");
  const headings = [...prose.matchAll(/^#+ (.+)$/gm)];
  const index = headings.findIndex(([, text]) => text === heading);
  if (index === -1) return null;
  const start = headings[index]?.index ?? 0;
  const section = { start, end: headings[index + 1]?.index ?? prose.length };
  return row === undefined ? section : findRow(prose, section, row);
}

function findRow(prose: string, { start, end }: Range, firstCell: string): Range | null {
  for (const { 0: line, index } of prose.slice(start, end).matchAll(/^\|.*$/gm)) {
    const cell = line
      .split("|", 2)[1]
      ?.trim()
      .replaceAll(/[`[\]]/g, "");
    if (cell === firstCell) return { start: start + index, end: start + index + line.length };
  }
  return null;
}

function findQuantity(text: string, { spellings }: Quantity): Range | null {
  const pattern = new RegExp(`(?<![\\w.,/-])(?:${spellings.join("|")})(?![\\w]|[.,]\\d)`, "i");
  const match = pattern.exec(text.replaceAll("\n", " "));
  return match && { start: match.index, end: match.index + match[0].length };
}

/** Returns one message per quantity that a fact expects and the page does not state. */
export function findWrongFacts(facts: readonly Fact[], readPage: (path: string) => string = read): string[] {
  return facts.flatMap(({ page, place, states }) => {
    const prose = proseOf(readPage(page));
    const range = findPlace(prose, place);
    if (!range) return [`${page} has no place "${place}"`];
    const text = prose.slice(range.start, range.end);
    return states
      .filter((quantity) => findQuantity(text, quantity) === null)
      .map(({ spellings: [first = ""] }) => `${page}, ${place}: must say ${first.replace(/\(\?!.*$/, "")}`);
  });
}
