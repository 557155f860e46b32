/** Keeps the results of each size beside the data, so that sizes can be measured one at a time, and formats their table. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { dataFolder } from "../environment.ts";
import { formatNumber, formatTable } from "../report.ts";
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
const RESULTS_FILE = join(dataFolder, "growth.json");

/** Returns the results, smallest size first. */
export async function readResults(): Promise<SizeResult[]> {
  const text = await readFile(RESULTS_FILE, "utf8").catch(() => "[]");
  return (JSON.parse(text) as SizeResult[]).toSorted((a, b) => a.jobs - b.jobs);
}

/** Replaces the result of the same size. */
export async function saveResult(result: SizeResult): Promise<void> {
  const others = (await readResults()).filter(({ jobs }) => jobs !== result.jobs);
  await writeFile(RESULTS_FILE, JSON.stringify([...others, result], null, 1));
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
    formatTable([head, ...lines]),
    "",
    `A cell: CPU µs of Node + PostgreSQL per operation; in brackets the 8 KiB pages that PostgreSQL found in its buffers + read from the system, and kB of write-ahead log. ${days.join("; ")}.`,
  ].join("\n");
}

function cell(figures: CostFigures | null): string {
  if (!figures) return "-";
  const { nodeUs, postgresUs, counts } = figures;
  const times = `${formatNumber(nodeUs)} + ${formatNumber(postgresUs)}`;
  if (!counts) return times;
  const log = counts.walBytes >= 100 ? `, ${formatNumber(counts.walBytes / 1_000)} kB` : "";
  return `${times} (${formatNumber(counts.hit)} + ${formatNumber(counts.read)}${log})`;
}

/** Divides the cost at the largest measured size by that at the smallest. */
function growthOf(figures: readonly (CostFigures | null)[], isBounded: boolean): string {
  const known = figures.filter((one) => one !== null);
  const [first, last] = [known[0], known.at(-1)];
  if (!first || !last || known.length < 2) return "-";
  const ratio = (last.nodeUs + last.postgresUs) / (first.nodeUs + first.postgresUs);
  const ofPostgres = ` (× ${formatNumber(last.postgresUs / first.postgresUs)})`;
  if (!isBounded) return `× ${formatNumber(ratio)}${ofPostgres}, no budget: the total grows`;
  const text = `× ${formatNumber(ratio)}`;
  return `${ratio > MAX_GROWTH ? `**${text}**` : text}${ofPostgres}`;
}
