/** `docs/operations.md`, the alerts and the dashboard are true: every setting, every metric, and nothing that is not there. */
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parser } from "@prometheus-io/lezer-promql";
import { collectDefaultMetrics, Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), "utf8");
const page = read("docs/operations.md");

/** The first cells of a section's table rows. */
function firstCells(section: string): string[] {
  const [, text = ""] = page.split(`\n## ${section}\n`);
  const rows = (text.split("\n## ", 1)[0] ?? "").split("\n").filter((line) => line.startsWith("| `"));
  return rows.map((row) => row.split(" | ", 1)[0] ?? "");
}

/** Name → labels of each metric that the source declares. */
function declaredMetrics(): Map<string, string[]> {
  const declared = new Map<string, string[]>();
  for (const file of globSync("src/**/*.ts", { cwd: root })) {
    const text = read(file);
    if (!text.includes('from "prom-client"')) continue;
    // From each name to the next: what stands between belongs to it.
    for (const [, name = "", rest = ""] of text.matchAll(/"(waymark_\w+)"([^]*?)(?="waymark_|$(?![^]))/g)) {
      const [, labels = ""] = /labelNames: \[([^\]]*)\]/.exec(rest) ?? [];
      declared.set(
        name,
        [...labels.matchAll(/"(\w+)"/g)].map(([, label = ""]) => label),
      );
    }
  }
  return declared;
}

/** The fragments by which headings of a page are linked to. */
function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, "")
      .replaceAll(" ", "-"),
  );
}

const sorted = (names: readonly (string | undefined)[]): string[] =>
  names.map(String).toSorted((a, b) => a.localeCompare(b));

interface Rule {
  alert: string;
  expr: string;
  labels: { severity: string };
  annotations: { summary: string; action: string };
}

interface Panel {
  title: string;
  type: string;
  gridPos: { x: number; y: number; w: number; h: number };
  targets?: { expr: string }[];
}

const metrics = declaredMetrics();
const alerts = (parse(read("docs/operations/alerts.yml")) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  ({ rules }) => rules,
);
const { panels } = JSON.parse(read("docs/operations/dashboard.json")) as { panels: Panel[] };
const queries = [
  ...alerts.map(({ alert, expr }) => ({ where: alert, expr })),
  ...panels.flatMap(({ title, targets = [] }) =>
    // What Grafana puts in before it asks.
    targets.map(({ expr }) => ({ where: title, expr: expr.replaceAll("$__rate_interval", "1m") })),
  ),
];

/** The names of series in an expression, each with the labels that it selects or groups by there. */
function seriesIn(expr: string): { name: string; labels: string[] }[] {
  const series: { name: string; labels: string[] }[] = [];
  parser.parse(expr).iterate({
    enter(node) {
      if (node.type.isError) throw new Error(`No PromQL at ${node.from}: ${expr}`);
      if (node.name !== "VectorSelector") return;
      const text = expr.slice(node.from, node.to);
      const [name = ""] = /^[\w:]+/.exec(text) ?? [];
      series.push({ name, labels: [...text.matchAll(/(\w+)\s*[=!]~?"/g)].map(([, label = ""]) => label) });
    },
  });
  return series;
}

describe("the settings", () => {
  it("are all in the page, and no others", () => {
    const shape = /^const settings = \{\n([^]*?)^\} as const;/m.exec(read("src/config/env.ts"))?.[1] ?? "";
    const settings = [...shape.matchAll(/^ {2}([A-Z_]+):/gm)].map(([, name = ""]) => name);
    const told = firstCells("Settings").flatMap((cell) =>
      [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name),
    );
    expect(settings.length).toBeGreaterThan(25);
    expect(sorted(told)).toEqual(sorted(settings));
  });
});

describe("the metrics", () => {
  it("are all in the page, with their labels, and no others", () => {
    const told = firstCells("Metrics").flatMap((cell) =>
      [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name),
    );
    const declared = [...metrics].map(([name, labels]) =>
      labels.length > 0 ? `${name}{${labels.join(",")}}` : name,
    );
    expect(declared.length).toBeGreaterThan(20);
    expect(sorted(told)).toEqual(sorted(declared));
  });

  it("are what alerts and dashboard ask for, by labels that they have", () => {
    const registry = new Registry();
    collectDefaultMetrics({ register: registry });
    const ofNode = new Set(registry.getMetricsAsArray().map(({ name }) => name));
    const scraped = ["job", "instance"];
    const strange = queries.flatMap(({ where, expr }) =>
      seriesIn(expr).flatMap(({ name, labels }) => {
        const base = metrics.has(name) ? name : name.replace(/_(bucket|count|sum)$/, "");
        const known = metrics.get(base) ?? (ofNode.has(name) || name === "up" ? [] : null);
        if (known === null) return [`${where}: ${name} is not there`];
        const unknown = labels.filter((label) => ![...known, ...scraped, "le"].includes(label));
        return unknown.map((label) => `${where}: ${name} has no ${label}`);
      }),
    );
    expect(strange).toEqual([]);
    expect(queries.length).toBeGreaterThan(50);
  });

  it("each stand in the dashboard or are there to be looked up", () => {
    const asked = new Set(
      queries.flatMap(({ expr }) =>
        seriesIn(expr).map(({ name }) => name.replace(/_(bucket|count|sum)$/, "")),
      ),
    );
    const lookedUp = [
      "waymark_graphql_subscription_events_total",
      "waymark_http_requests_in_flight",
      "waymark_idempotency_records_trimmed_total",
      "waymark_job_counter_deltas_compacted_total",
      "waymark_websocket_closes_total",
      "waymark_websocket_handshakes_rejected_total",
    ];
    expect(sorted([...metrics.keys()].filter((name) => !asked.has(name)))).toEqual(lookedUp);
  });
});

describe("the alerts", () => {
  it("each say what is wrong, what to do, and who is to do it", () => {
    for (const { alert, labels, annotations } of alerts) {
      expect(alert).toMatch(/^Waymark[A-Z]\w+$/);
      expect(["page", "ticket"]).toContain(labels.severity);
      expect(annotations).toEqual({
        summary: expect.stringMatching(/\w{3}/),
        action: expect.stringMatching(/\w{3}.*\.$/),
      });
    }
    expect(new Set(alerts.map(({ alert }) => alert)).size).toBe(alerts.length);
  });
});

describe("the dashboard", () => {
  it("has no panel on another one", () => {
    const taken = new Map<string, string>();
    for (const { title, gridPos } of panels) {
      const { x, y, w, h } = gridPos;
      expect(x + w).toBeLessThanOrEqual(24);
      for (let column = x; column < x + w; column += 1)
        for (let line = y; line < y + h; line += 1) {
          expect([title, taken.get(`${column} ${line}`)]).toEqual([title, undefined]);
          taken.set(`${column} ${line}`, title);
        }
    }
  });
});

describe("the pages for operators", () => {
  const pages = [
    "docs/operations.md",
    "docs/backup.md",
    "docs/faults.md",
    "docs/scaling.md",
    "docs/security.md",
  ];

  it("lead to files and headings that are there", () => {
    const broken = pages.flatMap((from) =>
      [...read(from).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].flatMap(
        ([link, path = "", anchor]) => {
          const to = path === "" ? from : join(dirname(from), path);
          if (!existsSync(join(root, to))) return [`${from}: ${link}`];
          return anchor === undefined || anchorsOf(read(to)).includes(anchor) ? [] : [`${from}: ${link}`];
        },
      ),
    );
    expect(broken).toEqual([]);
  });
});
