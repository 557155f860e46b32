/** Compares the tables of the operator guide with the settings and the alerts. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { readEnv, type Env } from "../../src/config/env.ts";
import { readPage, tableRows } from "../support/docs/guide-pages.ts";

const read = (path: string): string => readFileSync(join(import.meta.dirname, "../..", path), "utf8");

/** The rows of all tables of the page: the setting, its default and its values. */
const settings = readPage("operate/settings.md")
  .split("\n")
  .filter((line) => line.startsWith("| `"))
  .map((line) => line.split("|").map((cell) => cell.trim()))
  .map(([, name = "", byDefault = "", values = ""]) => ({
    name: name.replaceAll("`", ""),
    byDefault,
    values,
  }));

const UNITS: Readonly<Record<string, string>> = { s: "s", min: "m", h: "h", d: "d" };

/** Returns true if the setting accepts the value. */
function accepts(name: string, value: string): boolean {
  try {
    // RETENTION_DAYS must be longer than the schedule.
    readEnv({ WEBHOOK_RETRY_SCHEDULE: "0s", [name]: value });
    return true;
  } catch {
    return false;
  }
}

/** Returns the ends of a range such as `1 to 1,000`, `1 s to 1 h` or `0 to 5 min`, and the step below and above it. */
function rangeOf(values: string): { min: string; max: string; below: string | null; above: string } | null {
  const match = /^(?:Switch\. )?([\d,]+)(?: (s|min|h))? to ([\d,]+)(?: (s|min|h)\b)?/.exec(values);
  if (!match) return null;
  const [low = 0, high = 0] = [match[1], match[3]].map((text = "") => Number(text.replaceAll(",", "")));
  const unit = match[4] ?? match[2];
  const [lowUnit = "", highUnit = ""] = [match[2] ?? unit, unit].map((name) => UNITS[name ?? ""] ?? "");
  const below = low === 0 ? null : `${low - 1}${lowUnit}`;
  return { min: `${low}${lowUnit}`, max: `${high}${highUnit}`, below, above: `${high + 1}${highUnit}` };
}

describe("the settings", () => {
  it.each(settings.filter(({ values }) => rangeOf(values) !== null))(
    "$name has the range $values",
    ({ name, values }) => {
      const range = rangeOf(values);
      expect([range?.min, range?.max].map((value) => accepts(name, value ?? ""))).toEqual([true, true]);
      const outside = [range?.below ?? [], range?.above ?? []].flat();
      expect(outside.filter((value) => accepts(name, value))).toEqual([]);
    },
  );

  it("that have a range are more than a few", () => {
    expect(settings.filter(({ values }) => rangeOf(values) !== null).length).toBeGreaterThan(8);
  });

  it("have the defaults of the page", () => {
    const defaults: Partial<Record<string, unknown>> = readEnv({});
    const wrong = settings.filter(({ name, byDefault }) => {
      const value = defaults[name as keyof Env];
      const shown = /^`([^`]+)`/.exec(byDefault)?.[1];
      // No default, or one that depends on another setting.
      if (shown === undefined) return value !== undefined && !isEmpty(value);
      return JSON.stringify(value) !== JSON.stringify(readEnv({ [name]: shown })[name as keyof Env]);
    });
    const derived = new Set(["MAIL_FROM", "XDG_CACHE_HOME"]);
    expect(wrong.map(({ name }) => name).filter((name) => !derived.has(name))).toEqual([]);
  });
});

/** An empty list, or off. */
function isEmpty(value: unknown): boolean {
  return value === 0 || JSON.stringify(value) === "[]" || JSON.stringify(value) === "{}";
}

interface Rule {
  alert: string;
  expr: string;
  for?: string;
  labels: { severity: string };
  annotations: { action: string };
}

/** Returns the numbers of a condition in the units of PromQL: `5 min` is 5m, `1 %` is 0.01, `600 MB` is 600e6. */
function numbersOf(condition: string): string[] {
  return [
    ...condition
      .replace("5xx other than 503", "")
      .matchAll(/(?<![\w.])(\d[\d,]*(?:\.\d+)?)( (?:%|MB|min|s)(?!\w))?/g),
  ].map(([, text = "", unit = ""]) => {
    const number = text.replaceAll(",", "");
    if (unit === " %") return String(Number(number) / 100);
    return number + ({ " MB": "e6", " min": "m" }[unit] ?? "");
  });
}

describe("the alerts", () => {
  const { groups } = parse(read("deploy/alerts.yml")) as { groups: { rules: Rule[] }[] };
  const rules = groups.flatMap((group) => group.rules);
  const rows = tableRows(readPage("operate/monitoring.md"), "Alert").flatMap(
    ([names = "", severity = "", condition = ""]) =>
      names.split(", ").map((name) => ({ name, severity, condition })),
  );
  it("are exactly those of the page, with their severity", () => {
    const known = rules.map(({ alert, labels }) => `${alert} ${labels.severity}`);
    expect(rows.map(({ name, severity }) => `${name} ${severity}`).toSorted()).toEqual(known.toSorted());
  });

  it.each(rows)("$name fires when the page says", ({ name, condition }) => {
    const rule = rules.find(({ alert }) => alert === name);
    const written = `${rule?.expr} for ${rule?.for}`;
    const isInRule = (number: string): boolean =>
      new RegExp(`(?<![\\w.])${number.replace(".", String.raw`\.`)}(?![\\d.])`).test(written);
    expect(numbersOf(condition).filter((number) => !isInRule(number))).toEqual([]);
    expect(numbersOf(condition)).toEqual(expect.arrayContaining(rule?.for === undefined ? [] : [rule.for]));
  });

  it("refer to existing pages and headings", () => {
    const references = rules.flatMap(({ annotations }) => [
      ...annotations.action.matchAll(/docs\/(operate\/[\w-]+\.md), ([A-Z][\w' ]*?)(?=[.:)]|, )/g),
    ]);
    expect(references.length).toBeGreaterThan(3);
    for (const [, page = "", heading = ""] of references)
      expect(readPage(page).split("\n")).toContain(`## ${heading}`);
  });
});
