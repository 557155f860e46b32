/** Compares the tables of the operator guide with the settings and the alerts. */
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { toConfig } from "../../src/config/config.ts";
import { readEnv, type Env } from "../../src/config/env.ts";
import { constantIn, read } from "../support/docs/facts.ts";
import { readPage, tableRows } from "../support/docs/guide-pages.ts";

/** The rows of all tables of the page: the setting, its default and its values. */
const settings = readPage("operate/settings.md")
  .split("\n")
  .filter((line) => line.startsWith("| `"))
  .map((line) => line.split("|").map((cell) => cell.trim()))
  .map(([, cell = "", byDefault = "", values = ""]) => ({
    cell,
    name: cell.replaceAll("`", ""),
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
  it("are exactly those of the page", () => {
    const shape = /^const settings = \{\n([^]*?)^\} as const;/m.exec(read("src/config/env.ts"))?.[1] ?? "";
    const known = [...shape.matchAll(/^ {2}([A-Z_]+):/gm)].map(([, name]) => name);
    expect(known.length).toBeGreaterThan(25);
    // A row can have several settings.
    const documented = settings.flatMap(({ cell }) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name));
    expect(new Set(documented)).toEqual(new Set(known));
    expect(documented).toHaveLength(known.length);
  });

  it("of .env.example have the default values, as on the page", () => {
    const set = [...read(".env.example").matchAll(/^([A-Z][A-Z0-9_]*)=(.+)$/gm)];
    const values = Object.fromEntries(set.map(([, name = "", value = ""]) => [name, value]));
    expect(Object.keys(values).length).toBeGreaterThan(10);
    expect(toConfig(readEnv(values))).toEqual(toConfig(readEnv({})));
    const written = settings.filter(({ name }) => name in values);
    expect(written.length).toBeGreaterThan(8);
    for (const { name, byDefault } of written) expect(byDefault.replaceAll("`", "")).toBe(values[name]);
  });

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

  const CHOICES = [
    "NODE_ENV",
    "WAYMARK_ROLE",
    "MONGOD_DOWNLOAD",
    "REQUIRE_TWO_FACTOR",
    "RATE_LIMIT_STORE",
    "LOG_LEVEL",
  ];

  it.each(CHOICES)("%s accepts exactly the values of the page", (name) => {
    const { values = "" } = settings.find((setting) => setting.name === name) ?? {};
    const [, list = ""] =
      new RegExp(`${name}: z\\s*\\.enum\\(\\[([^\\]]+)\\]`).exec(read("src/config/env.ts")) ?? [];
    const allowed = [...list.matchAll(/"(\w+)"/g)].map(([, value = ""]) => value);
    expect(allowed.length).toBeGreaterThan(1);
    expect(allowed.filter((value) => !values.includes(`\`${value}\``))).toEqual([]);
    const [sentence = ""] = values.split(". ");
    const named = [...sentence.matchAll(/`([a-z]+)`/g)].map(([, value = ""]) => value);
    expect(named.filter((value) => !accepts(name, value))).toEqual([]);
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

  it("have the defaults that depend on other settings", () => {
    const database = { DATABASE_URL: "postgresql://db/waymark", WAYMARK_SECRET: "a".repeat(64) };
    const [own, embedded] = [toConfig(readEnv(database)), toConfig(readEnv({}))];
    const byDefault = Object.fromEntries(settings.map((setting) => [setting.name, setting.byDefault]));
    expect([own.demo, embedded.demo]).toEqual([false, true]);
    expect(byDefault["WAYMARK_DEMO"]).toBe("on when embedded");
    expect([own.webhooks.allowPrivate, embedded.webhooks.allowPrivate]).toEqual([false, true]);
    expect(byDefault["WEBHOOK_ALLOW_PRIVATE"]).toBe("on when embedded");
    const proxied = toConfig(readEnv({ TRUST_PROXY: "1" })).http.connections;
    expect(embedded.http.connections.perAddress).toBe(1000);
    expect(proxied.perAddress).toBe(proxied.total);
    expect(byDefault["MAX_CONNECTIONS_PER_ADDRESS"]).toBe("1000; no limit with `TRUST_PROXY`");
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
  it("are exactly those of the page, with their severity, and have a summary and an action", () => {
    const known = rules.map(({ alert, labels }) => `${alert} ${labels.severity}`);
    expect(rows.map(({ name, severity }) => `${name} ${severity}`).toSorted()).toEqual(known.toSorted());
    for (const { alert, labels, annotations } of rules) {
      expect(alert).toMatch(/^Waymark[A-Z]\w+$/);
      expect(["page", "ticket"]).toContain(labels.severity);
      expect(annotations).toEqual({
        summary: expect.stringMatching(/\w{3}/),
        action: expect.stringMatching(/\w{3}.*\.$/),
      });
    }
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
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

describe("the oldest supported versions", () => {
  const files = [
    "docs/operate/install.md",
    "docs/operate/settings.md",
    "README.md",
    "CONTRIBUTING.md",
    ".env.example",
  ];
  const versionsOf = (program: string): number[] =>
    files.flatMap((file) =>
      [...read(file).matchAll(new RegExp(`${program}[^.|]{0,20}? \\(?(\\d+) or later`, "g"))].map(
        ([, version]) => Number(version),
      ),
    );

  it.each([
    ["Node(?:\\.js)?", Number(/"node": ">=(\d+)"/.exec(read("package.json"))?.[1]), 2],
    ["(?:MongoDB|mongod`)", constantIn("src/dev/mongo/binary.ts", "minMajorVersion"), 4],
    // The oldest that the tests of backups have run on.
    ["PostgreSQL", 15, 3],
  ])("of %s are %i everywhere", (program, version, mentions) => {
    expect(versionsOf(program).length).toBeGreaterThanOrEqual(mentions);
    expect(new Set(versionsOf(program))).toEqual(new Set([version]));
  });
});
