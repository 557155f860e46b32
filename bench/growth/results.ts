/** Keeps the results of each size beside the data, so that sizes can be measured one at a time, and formats their table. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { formatNumber } from "../report.ts";
import type { OperationCost, CostFigures } from "./measure.ts";

export interface SizeResult {
  jobs: number;
  /** Such as `2026-11-21`. */
  day: string;
  rounds: number;
  gigabytes: number;
  costs: OperationCost[];
}

const MAX_GROWTH = 1.5;
const resultsFile = (folder: string): string => join(folder, "results.json");

/** Returns the results, smallest size first. */
export async function readResults(folder: string): Promise<SizeResult[]> {
  const text = await readFile(resultsFile(folder), "utf8").catch(() => "[]");
  return (JSON.parse(text) as SizeResult[]).toSorted((a, b) => a.jobs - b.jobs);
}

/** Replaces the result of the same size. */
export async function saveResult(folder: string, result: SizeResult): Promise<void> {
  const others = (await readResults(folder)).filter(({ jobs }) => jobs !== result.jobs);
  await writeFile(resultsFile(folder), JSON.stringify([...others, result], null, 1));
}

export function formatSizes(results: readonly SizeResult[]): string {
  const costs = results.at(-1)?.costs ?? [];
  const head = [
    "operation",
    ...results.map(({ jobs }) => `${jobs.toLocaleString("en")} jobs`),
    `largest to smallest size, budget ≤ ${MAX_GROWTH} (PostgreSQL alone)`,
  ];
  const lines = costs.map(({ id, name, isBounded }) => {
    const figures = results.map((result) => result.costs.find((cost) => cost.id === id)?.figures ?? null);
    return [name, ...figures.map(cell), growthOf(figures, isBounded)];
  });
  const days = results.map(
    ({ jobs, day, rounds, gigabytes }) =>
      `${jobs.toLocaleString("en")} jobs on ${day}, ${rounds} rounds, ${formatNumber(gigabytes)} GB`,
  );
  return [
    [head, head.map(() => "---"), ...lines].map((cells) => `| ${cells.join(" | ")} |`).join("\n"),
    "",
    `A cell: CPU µs of Node + PostgreSQL per operation; in brackets the 8 KiB pages that PostgreSQL found in its buffers + read from the system, and kB of write-ahead log. ${days.join("; ")}.`,
  ].join("\n");
}

function cell(figures: CostFigures | null): string {
  if (!figures) return "-";
  const { nodeUs, postgresUs, hit, read, walBytes } = figures;
  const log = walBytes >= 100 ? `, ${formatNumber(walBytes / 1_000)} kB` : "";
  const pages = Number.isFinite(hit) ? ` (${formatNumber(hit)} + ${formatNumber(read)}${log})` : "";
  return `${formatNumber(nodeUs)} + ${formatNumber(postgresUs)}${pages}`;
}

/** Divides the cost at the largest measured size by that at the smallest. */
function growthOf(figures: readonly (CostFigures | null)[], isBounded: boolean): string {
  const known = figures.filter((one) => one !== null);
  const [first, last] = [known[0], known.at(-1)];
  if (!first || !last || known.length < 2) return "-";
  const ratio = (last.nodeUs + last.postgresUs) / (first.nodeUs + first.postgresUs);
  const ofPostgres = ` (× ${formatNumber(last.postgresUs / first.postgresUs)})`;
  if (!isBounded) return `× ${formatNumber(ratio)}${ofPostgres}, no budget: the total grows`;
  return `${ratio <= MAX_GROWTH ? `× ${formatNumber(ratio)}` : `**× ${formatNumber(ratio)}**`}${ofPostgres}`;
}
