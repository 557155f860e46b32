/**
 * The search part of an address: filters as they would be typed, `?status=failed&status=on_hold&q=WM-1`. Everything in it is
 * somebody's typing, so a route's `validateSearch` reads each value with one of these; what makes no sense is left out.
 *
 * A reader of a page's search sets every parameter that it knows, also to undefined: the router keeps the raw value of a missing one.
 */

export type RawSearch = Record<string, unknown>;

export function parseSearch(query: string): RawSearch {
  const search: RawSearch = {};
  const parameters = new URLSearchParams(query);
  for (const name of new Set(parameters.keys())) {
    const values = parameters.getAll(name);
    search[name] = values.length === 1 ? values[0] : values;
  }
  return search;
}

export function stringifySearch(search: RawSearch): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(search)) {
    for (const one of [value].flat()) {
      if (isPrintable(one) && one !== "") parameters.append(name, String(one));
    }
  }
  return parameters.size === 0 ? "" : `?${parameters.toString()}`;
}

function isPrintable(value: unknown): value is string | number | boolean {
  return ["string", "number", "boolean"].includes(typeof value);
}

/** Text of at most `longest` characters. */
export function text(value: unknown, longest = 200): string | undefined {
  const first: unknown = Array.isArray(value) ? value[0] : value;
  if (!isPrintable(first)) return undefined;
  const trimmed = String(first).trim();
  return trimmed === "" || trimmed.length > longest ? undefined : trimmed;
}

/** One of `known`. */
export function oneOf<const Known extends string>(
  value: unknown,
  known: readonly Known[],
): Known | undefined {
  const given = text(value);
  return known.find((one) => one === given);
}

/** A list of texts, each once; undefined where it is empty. */
export function texts(value: unknown, most = 50): string[] | undefined {
  const list = [value].flat().flatMap((one) => text(one) ?? []);
  return list.length === 0 ? undefined : [...new Set(list)].slice(0, most);
}

/** A list of some of `known`. */
export function someOf<const Known extends string>(
  value: unknown,
  known: readonly Known[],
): Known[] | undefined {
  const list = (texts(value) ?? []).flatMap((one) => oneOf(one, known) ?? []);
  return list.length === 0 ? undefined : list;
}

/** A whole number from `least` to `greatest`. */
export function wholeNumber(value: unknown, least: number, greatest: number): number | undefined {
  const number = Number(text(value) ?? Number.NaN);
  return Number.isInteger(number) && number >= least && number <= greatest ? number : undefined;
}

/** A calendar day, `2026-11-21`. */
export function day(value: unknown): string | undefined {
  const given = text(value);
  if (given === undefined || !/^\d{4}-\d{2}-\d{2}$/.test(given)) return undefined;
  const instant = new Date(`${given}T00:00:00Z`);
  // The 30th of February is taken for the 2nd of March.
  return !Number.isNaN(instant.getTime()) && instant.toISOString().startsWith(given) ? given : undefined;
}

/** Whether it is said. */
export function flag(value: unknown): true | undefined {
  return text(value) === "true" ? true : undefined;
}

/** An id of this kind, such as `org_01JD…`. */
export function typedId(value: unknown, prefix: string): string | undefined {
  const given = text(value);
  return given?.startsWith(`${prefix}_`) && ID.test(given.slice(prefix.length + 1)) ? given : undefined;
}

/** The ids of this kind in a list, each once; undefined if the list has none. */
export function typedIds(value: unknown, prefix: string, most = 50): string[] | undefined {
  return texts((texts(value, most) ?? []).flatMap((one) => typedId(one, prefix) ?? []));
}

const ID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/i;

export interface LostValue {
  name: string;
  value: string;
}

/** The values of a link that a page's search does not have. A value that is the default may be left out of a search. */
export function lostValues(raw: RawSearch, search: object, defaults: RawSearch = {}): LostValue[] {
  return Object.entries(search).flatMap(([name, kept]) => {
    const given = Object.hasOwn(raw, name) ? [raw[name]].flat().filter(isPrintable) : [];
    const known = new Set([kept, defaults[name]].flat().map(String));
    const values = new Set(given.map((value) => String(value).trim()));
    return [...values].filter((value) => value !== "" && !known.has(value)).map((value) => ({ name, value }));
  });
}
