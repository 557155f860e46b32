/** What was measured, size by size, kept beside the data so that sizes can be run one at a time; and its table. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { formatNumber } from "../report.ts";
import type { OperationCost, CostFigures } from "./measure.ts";

export interface SizeResult {
  jobs: number;
  /** `2026-11-21` */
  day: string;
  rounds: number;
  gigabytes: number;
  costs: OperationCost[];
}

const MAX_GROWTH = 1.5;
const resultsFile = (folder: string): string => join(folder, "results.json");

/** The smallest first. */
export async function readResults(folder: string): Promise<SizeResult[]> {
  const text = await readFile(resultsFile(folder), "utf8").catch(() => "[]");
  return (JSON.parse(text) as SizeResult[]).toSorted((a, b) => a.jobs - b.jobs);
}

/** In the place of what was kept of the same size. */
export async function saveResult(folder: string, result: SizeResult): Promise<void> {
  const others = (await readResults(folder)).filter(({ jobs }) => jobs !== result.jobs);
  await writeFile(resultsFile(folder), JSON.stringify([...others, result], null, 1));
}

export function formatSizes(results: readonly SizeResult[]): string {
  const costs = results.at(-1)?.costs ?? [];
  const head = [
    "operation",
    ...results.map(({ jobs }) => `${jobs.toLocaleString("en")} jobs`),
    `last to first, budget ≤ ${MAX_GROWTH} (PostgreSQL alone)`,
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
    `A cell: CPU µs of Node + PostgreSQL an operation; in brackets the pages of 8 KiB that PostgreSQL looked at, found in its own memory + asked of the system, and the kB of write-ahead log. ${days.join("; ")}.`,
  ].join("\n");
}

function cell(figures: CostFigures | null): string {
  if (!figures) return "-";
  const { nodeUs, postgresUs, hit, read, walBytes } = figures;
  const log = walBytes >= 100 ? `, ${formatNumber(walBytes / 1_000)} kB` : "";
  const pages = Number.isFinite(hit) ? ` (${formatNumber(hit)} + ${formatNumber(read)}${log})` : "";
  return `${formatNumber(nodeUs)} + ${formatNumber(postgresUs)}${pages}`;
}

/** From the smallest size that has it to the largest. */
function growthOf(figures: readonly (CostFigures | null)[], isBounded: boolean): string {
  const known = figures.filter((one) => one !== null);
  const [first, last] = [known[0], known.at(-1)];
  if (!first || !last || known.length < 2) return "-";
  const ratio = (last.nodeUs + last.postgresUs) / (first.nodeUs + first.postgresUs);
  const ofPostgres = ` (× ${formatNumber(last.postgresUs / first.postgresUs)})`;
  if (!isBounded) return `× ${formatNumber(ratio)}${ofPostgres}, grows with the answer's total`;
  return `${ratio <= MAX_GROWTH ? `× ${formatNumber(ratio)}` : `**× ${formatNumber(ratio)}**`}${ofPostgres}`;
}
