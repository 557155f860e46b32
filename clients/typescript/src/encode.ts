/** Writes URLs and bodies. Throws a WaymarkError for values that they cannot hold. */
import { WaymarkError } from "./errors.ts";

export type Path = Readonly<Record<string, string>>;
export type Query = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

export function toBaseUrl(text: string): string {
  if (!URL.canParse(text) || !/^https?:/.test(text))
    throw new WaymarkError(
      `baseUrl must be a URL such as https://api.example.com, got ${JSON.stringify(text)}`,
    );
  return `${text.replace(/\/+$/, "").replace(/\/v1$/, "")}/v1`;
}

export function fillPath(template: string, values: Path): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name] ?? "";
    // URLs drop these segments, even percent-encoded.
    if (["", ".", ".."].includes(value))
      throw new WaymarkError(`${name} must not be ${JSON.stringify(value)}`);
    return encodeURIComponent(value);
  });
}

/** Throws a WaymarkError for what JSON.stringify would replace by null: it would clear a field. */
export function toJson(body: unknown): string {
  return JSON.stringify(body, function check(this: unknown, name: string, value: unknown) {
    const isLost = value === undefined ? Array.isArray(this) : !isSendable(value);
    if (isLost) throw new WaymarkError(`${name} must not be ${String(value)}`);
    return value;
  });
}

function isSendable(value: unknown): boolean {
  return typeof value !== "number" || Number.isFinite(value);
}

export function queryString(query: Query): string {
  // Without types, null stands for an absent parameter too.
  const pairs = Object.entries(query).filter(
    ([, value]) => (value as unknown) !== null && value !== undefined,
  );
  for (const [name, value] of pairs)
    for (const each of Array.isArray(value) ? (value as readonly unknown[]) : [value])
      if (each === null || each === undefined || !isSendable(each))
        throw new WaymarkError(`${name} must not be ${String(each)}`);
  if (pairs.length === 0) return "";
  return `?${new URLSearchParams(pairs.map(([name, value]): [string, string] => [name, String(value)])).toString()}`;
}
