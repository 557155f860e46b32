/**
 * Reads and writes the query string. A route's `validateSearch` parses every value with one of these functions and
 * drops invalid ones. A parser of a page sets every parameter that it knows, also to undefined, because the router
 * keeps the raw value of a missing one.
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
    for (const item of [value].flat()) {
      if (isPrimitive(item) && item !== "") parameters.append(name, String(item));
    }
  }
  return parameters.size === 0 ? "" : `?${parameters.toString()}`;
}

function isPrimitive(value: unknown): value is string | number | boolean {
  return ["string", "number", "boolean"].includes(typeof value);
}

/** Trimmed text of at most `maxLength` characters. */
export function textParam(value: unknown, maxLength = 200): string | undefined {
  const first: unknown = Array.isArray(value) ? value[0] : value;
  if (!isPrimitive(first)) return undefined;
  const trimmed = String(first).trim();
  return trimmed === "" || trimmed.length > maxLength ? undefined : trimmed;
}

export function enumParam<const Known extends string>(
  value: unknown,
  allowed: readonly Known[],
): Known | undefined {
  const parsed = textParam(value);
  return allowed.find((one) => one === parsed);
}

/** A list of distinct texts, at most `maxItems`; undefined if it is empty. */
export function textListParam(value: unknown, maxItems = 50): string[] | undefined {
  const list = [value].flat().flatMap((one) => textParam(one) ?? []);
  return list.length === 0 ? undefined : [...new Set(list)].slice(0, maxItems);
}

/** A list of values from `allowed`; undefined if it is empty. */
export function enumListParam<const Known extends string>(
  value: unknown,
  allowed: readonly Known[],
): Known[] | undefined {
  const list = (textListParam(value) ?? []).flatMap((one) => enumParam(one, allowed) ?? []);
  return list.length === 0 ? undefined : list;
}

export function integerParam(value: unknown, min: number, max: number): number | undefined {
  const number = Number(textParam(value) ?? Number.NaN);
  return Number.isInteger(number) && number >= min && number <= max ? number : undefined;
}

/** A calendar day, `2026-11-21`. */
export function dayParam(value: unknown): string | undefined {
  const parsed = textParam(value);
  if (parsed === undefined || !/^\d{4}-\d{2}-\d{2}$/.test(parsed)) return undefined;
  const instant = new Date(`${parsed}T00:00:00Z`);
  // `Date` accepts 30 February as 2 March.
  return !Number.isNaN(instant.getTime()) && instant.toISOString().startsWith(parsed) ? parsed : undefined;
}

/** True for "true", otherwise undefined. */
export function flagParam(value: unknown): true | undefined {
  return textParam(value) === "true" ? true : undefined;
}

/** A typed id with this prefix, such as `org_01JD…`. */
export function typedIdParam(value: unknown, prefix: string): string | undefined {
  const parsed = textParam(value);
  return parsed?.startsWith(`${prefix}_`) && TYPED_ID_SUFFIX.test(parsed.slice(prefix.length + 1))
    ? parsed
    : undefined;
}

/** The distinct typed ids in a list; undefined if there are none. */
export function typedIdListParam(value: unknown, prefix: string, maxItems = 50): string[] | undefined {
  return textListParam(
    (textListParam(value, maxItems) ?? []).flatMap((one) => typedIdParam(one, prefix) ?? []),
  );
}

const TYPED_ID_SUFFIX = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/i;

export interface RemovedValue {
  name: string;
  value: string;
}

/** The values of `raw` that are missing in the parsed search and are not defaults. */
export function removedValues(raw: RawSearch, search: object, defaults: RawSearch = {}): RemovedValue[] {
  return Object.entries(search).flatMap(([name, parsed]) => {
    const given = Object.hasOwn(raw, name) ? [raw[name]].flat().filter(isPrimitive) : [];
    const known = new Set([parsed, defaults[name]].flat().map(String));
    const values = new Set(given.map((value) => String(value).trim()));
    return [...values].filter((value) => value !== "" && !known.has(value)).map((value) => ({ name, value }));
  });
}
