/** Formats results as Markdown and writes them between the markers of a docs page. */
import { readFile, writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { join } from "node:path";
import type { Figures } from "./comparison.ts";
import type { Budget, BenchmarkResult } from "./benchmarks.ts";

/** A section of a docs page between two markers. Writing one part leaves the others as they are. */
export type ReportPart =
  | "jobs"
  | "graphql"
  | "backlog"
  | "latency"
  | "growth"
  | "soak"
  | "sizes"
  | "overload"
  | "replicas"
  | "traces"
  | "costs"
  | "fleet";

/** The machine and Node version of this run. */
export const machine = `${cpus().length} cores (${cpus()[0]?.model}), Node ${process.versions.node}`;

/** `2026-11-21` */
export function today(): string {
  return new Date().toISOString().slice(0, 10);
}

/** Returns the line above a table: the date, the machine and `details`. */
export function reportHeading(...details: string[]): string {
  return `${[today(), machine, ...details].join(", ")}.`;
}

export function formatResults(results: readonly BenchmarkResult[]): string {
  return [
    "| row | budget | measured | requests/s a, b | p50 ms a, b | p99 ms a, b | CPU µs per request, Node + PostgreSQL: a, b |",
    "|---|---|---|---|---|---|---|",
    ...results.map(formatLine),
  ].join("\n");
}

export async function writeReport(part: ReportPart, heading: string, table: string): Promise<void> {
  const page = pages[part] ?? "performance.md";
  const path = join(import.meta.dirname, "../docs", page);
  const text = await readFile(path, "utf8");
  const [begin, end] = reportMarkers(part);
  const [before = "", rest] = text.split(begin, 2);
  const after = rest?.split(end, 2)[1];
  if (after === undefined) throw new Error(`docs/${page} has no place for ${part}: ${begin}`);
  await writeFile(path, `${before}${begin}\n\n${heading}\n\n${table}\n\n${end}${after}`);
}

/** The command that measures a part, if it is not a part of `npm run bench`. */
const commands: Partial<Record<ReportPart, string>> = {
  jobs: "bench -- --write",
  soak: "bench:soak -- --write",
  sizes: "bench:growth -- --write",
  overload: "bench:overload -- --write",
  replicas: "bench:replicas -- --write",
  traces: "bench:traces -- --write",
  costs: "bench:simulate -- --write, costs",
  fleet: "bench:simulate -- --write, fleet",
};

/** The page of a part, if it is not performance.md. */
const pages: Partial<Record<ReportPart, string>> = { costs: "scaling.md", fleet: "scaling.md" };

function reportMarkers(part: ReportPart): [begin: string, end: string] {
  const command = commands[part] ?? `bench -- --write, ${part}`;
  return [`<!-- npm run ${command}: begin -->`, `<!-- npm run ${command}: end -->`];
}

/** Returns the name of a table row, without figures in it. */
const rowName = (line: string): string => line.split(" | ", 1)[0]?.replace(/\(\d.*/, "") ?? "";

/** Adds the rows of the published table that did not run this time. */
export async function mergePreviousRows(part: ReportPart, table: string): Promise<string> {
  const path = join(import.meta.dirname, "../docs/performance.md");
  const [begin, end] = reportMarkers(part);
  const previous = (await readFile(path, "utf8")).split(begin, 2)[1]?.split(end, 1)[0] ?? "";
  const [head, lines] = [table.split("\n").slice(0, 2), table.split("\n").slice(2)];
  const newRows = new Map(lines.map((line) => [rowName(line), line]));
  const previousRows = previous.split("\n").filter((line) => line.startsWith("| ") && !head.includes(line));
  const merged = previousRows.map((line) => {
    const newRow = newRows.get(rowName(line));
    newRows.delete(rowName(line));
    return newRow ?? line;
  });
  return [...head, ...merged, ...newRows.values()].join("\n");
}

function formatLine({ name, comparison, budgets }: BenchmarkResult): string {
  const cells = [name, budgets.map(({ text }) => text).join("; "), budgets.map(formatMeasured).join("; ")];
  if (!comparison) return `| ${[...cells, "", "", "", ""].join(" | ")} |`;
  const { a, b, ratios } = comparison;
  const spread = `(${formatNumber(ratios.requests.min)} to ${formatNumber(ratios.requests.max)})`;
  const pair = (of: keyof Figures): string => `${formatNumber(a[of])}, ${formatNumber(b[of])}`;
  const cpu = ({ nodeUs, postgresUs }: Figures): string =>
    `${formatNumber(nodeUs)} + ${formatNumber(postgresUs)}`;
  const figures = [
    `${pair("requests")} ${spread}`,
    pair("p50Ms"),
    pair("p99Ms"),
    `${cpu(a)}, ${cpu(b)}; × ${formatNumber(ratios.cpu.median)}`,
  ];
  return `| ${[...cells, ...figures].join(" | ")} |`;
}

function formatMeasured({ value, holds }: Budget): string {
  return holds ? formatNumber(value) : `**${formatNumber(value)}**`;
}

/** Rounds to two or three significant digits; whole numbers from 100. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return "-";
  return value >= 100
    ? Math.round(value).toLocaleString("en")
    : String(Number(value.toPrecision(value < 10 ? 2 : 3)));
}
