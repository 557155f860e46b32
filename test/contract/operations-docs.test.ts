/** Checks that the operator guide, the alerts and the dashboard match the metrics of the code. */
import { globSync } from "node:fs";
import { parser } from "@prometheus-io/lezer-promql";
import { collectDefaultMetrics, Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { read } from "../support/docs/facts.ts";

const [, metricsSection = ""] = read("docs/operate/monitoring.md").split("\n## Metrics\n");

/** Returns the first cells of the tables in `text` that contain code. */
function firstCells(text: string): string[] {
  const rows = text.split("\n").filter((line) => line.startsWith("| `"));
  return rows.map((row) => row.split(" | ", 1)[0] ?? "");
}

/** Returns the labels of each metric declared in the source, by name. */
function declaredMetrics(): Map<string, string[]> {
  const declared = new Map<string, string[]>();
  for (const file of globSync("src/**/*.ts")) {
    const text = read(file);
    if (!text.includes('from "prom-client"')) continue;
    // The text from one metric name to the next contains its labels.
    for (const [, name = "", rest = ""] of text.matchAll(
      /(?<!_CHANNEL = )"(waymark_\w+)"([^]*?)(?="waymark_|$(?![^]))/g,
    )) {
      const [, labels = ""] = /labelNames: \[([^\]]*)\]/.exec(rest) ?? [];
      declared.set(
        name,
        [...labels.matchAll(/"(\w+)"/g)].map(([, label = ""]) => label),
      );
    }
  }
  return declared;
}

const sorted = (names: readonly (string | undefined)[]): string[] =>
  names.map(String).toSorted((a, b) => a.localeCompare(b));

interface Rule {
  alert: string;
  expr: string;
}

interface Panel {
  title: string;
  targets?: { expr: string }[];
}

const metrics = declaredMetrics();
const alerts = (parse(read("deploy/alerts.yml")) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  ({ rules }) => rules,
);
const { panels } = JSON.parse(read("deploy/dashboard.json")) as { panels: Panel[] };
const queries = [
  ...alerts.map(({ alert, expr }) => ({ where: alert, expr })),
  ...panels.flatMap(({ title, targets = [] }) =>
    // Grafana replaces this before querying.
    targets.map(({ expr }) => ({ where: title, expr: expr.replaceAll("$__rate_interval", "1m") })),
  ),
];

/** Returns the series in an expression with the labels that it selects by. */
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

describe("the metrics", () => {
  it("are exactly those of the page, with their labels", () => {
    const documented = firstCells(metricsSection.split("\n## ", 1)[0] ?? "").flatMap((cell) =>
      [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name),
    );
    const declared = [...metrics].map(([name, labels]) =>
      labels.length > 0 ? `${name}{${labels.join(",")}}` : name,
    );
    expect(declared.length).toBeGreaterThan(20);
    expect(sorted(documented)).toEqual(sorted(declared));
  });

  it("include all series and labels that the alerts and the dashboard query", () => {
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
});
