/** The results as a Markdown table, on the terminal and between the markers of docs/performance.md. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Figures } from "./rounds.ts";
import type { Budget, Result } from "./rows.ts";

const BEGIN = "<!-- npm run bench -- --write: begin -->";
const END = "<!-- npm run bench -- --write: end -->";

export function tableOf(results: readonly Result[]): string {
  return [
    "| row | budget | measured | requests/s a, b | p50 ms a, b | p99 ms a, b | CPU µs a request, node + PostgreSQL: a, b |",
    "|---|---|---|---|---|---|---|",
    ...results.map(lineOf),
  ].join("\n");
}

export async function writeReport(heading: string, results: readonly Result[]): Promise<void> {
  const path = join(import.meta.dirname, "../docs/performance.md");
  const text = await readFile(path, "utf8");
  const [before = "", rest = ""] = text.split(BEGIN, 2);
  const [, after = ""] = rest.split(END, 2);
  await writeFile(path, `${before}${BEGIN}\n\n${heading}\n\n${tableOf(results)}\n\n${END}${after}`);
}

function lineOf({ name, comparison, budgets }: Result): string {
  const cells = [name, budgets.map(({ text }) => text).join("; "), budgets.map(measured).join("; ")];
  if (!comparison) return `| ${[...cells, "", "", "", ""].join(" | ")} |`;
  const { a, b, ratios } = comparison;
  const spread = `(${number(ratios.requests.least)} to ${number(ratios.requests.most)})`;
  const pair = (of: keyof Figures): string => `${number(a[of])}, ${number(b[of])}`;
  const cpu = ({ nodeUs, postgresUs }: Figures): string => `${number(nodeUs)} + ${number(postgresUs)}`;
  const figures = [
    `${pair("requests")} ${spread}`,
    pair("p50Ms"),
    pair("p99Ms"),
    `${cpu(a)}, ${cpu(b)}; × ${number(ratios.cpu.median)}`,
  ];
  return `| ${[...cells, ...figures].join(" | ")} |`;
}

function measured({ value, holds }: Budget): string {
  return holds ? number(value) : `**${number(value)}**`;
}

/** Three figures that mean something. */
function number(value: number): string {
  if (!Number.isFinite(value)) return "-";
  return value >= 100
    ? Math.round(value).toLocaleString("en")
    : String(Number(value.toPrecision(value < 10 ? 2 : 3)));
}
