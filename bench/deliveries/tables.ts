/** Formats the results of the delivery benchmarks as Markdown. */
import { formatNumber } from "../report.ts";
import { medianRatio, type BacklogResult, type DrainResult } from "./backlog.ts";
import type { LogGrowthResult } from "./log-growth.ts";
import type { Latency, LatencyResult } from "./latency.ts";
import { median, type EngineName } from "./protocol.ts";

/** Minimum ratio of Waymark's deliveries per second to those of another engine. */
const budgets: Record<string, number> = {
  "graphile-worker": 1.1,
  "Agenda, one task per delivery": 20,
  "bare loop of signed POSTs": 0.5,
};
const HANGING_SIDE = "Waymark, 1 % of endpoints hanging";
const MIN_HEALTHY_SHARE = 0.8;
const MAX_STATEMENTS = 0.05;
const MAX_MEMORY_MB = 250;
const MAX_GROWTH = 1.5;
const MAX_LATENCY_P50 = 2.5;
const maxLatencyP99 = (perSecond: number): number => (perSecond <= 200 ? 2 : 3);

export function backlogTable({ sides, drains, unfinished, workerMemoryMb }: BacklogResult): string {
  const waymark = drains.get("Waymark") ?? [];
  const lines = sides.map(({ name, deliveries }) => {
    if (unfinished.has(name))
      return `| ${name} | ${deliveries.toLocaleString("en")} | | did not finish | | | | |`;
    const own = drains.get(name) ?? [];
    const of = (pick: (result: DrainResult) => number): string => formatNumber(median(own.map(pick)));
    const cells = [
      name,
      deliveries.toLocaleString("en"),
      ...ratioCells(name, waymark, own),
      of(({ perSecond }) => perSecond),
      [
        of(({ nodeUs }) => nodeUs),
        of(({ postgresUs }) => postgresUs),
        of(({ mongoUs }) => mongoUs),
        of(({ redisUs }) => redisUs),
      ].join(" + "),
      of(({ statements }) => statements),
      String(own.reduce((sum, { duplicates }) => sum + duplicates, 0)),
    ];
    return `| ${cells.join(" | ")} |`;
  });
  const statements = median(waymark.map((result) => result.statements));
  return [
    "| engine | deliveries | budget: Waymark's deliveries/s ÷ the engine's | measured (min to max) | deliveries/s | CPU µs per delivery: Node + PostgreSQL + MongoDB + Redis | statements per delivery | duplicates |",
    "|---|---|---|---|---|---|---|---|",
    ...lines,
    "",
    `Waymark's statements per delivery, budget ≤ ${MAX_STATEMENTS}: ${atMost(statements, MAX_STATEMENTS)}. ` +
      `Peak memory of its worker, budget ≤ ${MAX_MEMORY_MB} MB: ${atMost(workerMemoryMb, MAX_MEMORY_MB)} MB.`,
  ].join("\n");
}

const rateOf = (result: DrainResult): number => result.perSecond;
const cpu = ({ nodeUs, postgresUs }: DrainResult): number => nodeUs + postgresUs;

function ratioCells(
  name: string,
  waymark: readonly DrainResult[],
  own: readonly DrainResult[],
): [string, string] {
  if (name === "Waymark") return ["", ""];
  const isHanging = name === HANGING_SIDE;
  const ratio = isHanging ? medianRatio(own, waymark, rateOf) : medianRatio(waymark, own, rateOf);
  const limit = isHanging ? MIN_HEALTHY_SHARE : budgets[name];
  const measured = limit === undefined ? formatNumber(ratio.median) : atLeast(ratio.median, limit);
  const budget = limit === undefined ? "" : `≥ ${limit}${isHanging ? " of Waymark with all healthy" : ""}`;
  return [budget, `${measured} (${formatNumber(ratio.least)} to ${formatNumber(ratio.most)})`];
}

export function latencyTable(results: readonly LatencyResult[]): string {
  const names: EngineName[] = ["waymark", "bullmq", "graphile-worker"];
  const lines = results.map(({ perSecond, latencies }) => {
    const figures = names.map((name) => {
      const all = latencies.get(name) ?? [];
      return `${formatNumber(median(all.map(({ p50Ms }) => p50Ms)))} / ${formatNumber(median(all.map(({ p99Ms }) => p99Ms)))}`;
    });
    const ratio = (pick: (latency: Latency) => number, limit: number): string => {
      const own = latencies.get("waymark") ?? [];
      const other = latencies.get("bullmq") ?? [];
      if (other.length === 0) return "-";
      return atMost(median(own.map((latency, at) => pick(latency) / pick(other[at] as Latency))), limit);
    };
    const ratios = `${ratio(({ p50Ms }) => p50Ms, MAX_LATENCY_P50)}; ${ratio(({ p99Ms }) => p99Ms, maxLatencyP99(perSecond))}`;
    const budget = `p50 ≤ ${MAX_LATENCY_P50}; p99 ≤ ${maxLatencyP99(perSecond)}`;
    return `| ${[perSecond.toLocaleString("en"), budget, ratios, ...figures].join(" | ")} |`;
  });
  return [
    "| changes per second | budget, relative to BullMQ | measured | Waymark p50 / p99 ms | BullMQ | graphile-worker |",
    "|---|---|---|---|---|---|",
    ...lines,
  ].join("\n");
}

export function growthTable(results: readonly LogGrowthResult[]): string {
  const [first] = results;
  const lines = results.map(({ finished, drains }) => {
    const ratio = medianRatio(drains, first?.drains ?? [], cpu);
    const cells = [
      finished.toLocaleString("en"),
      finished === first?.finished
        ? ""
        : `${atMost(ratio.median, MAX_GROWTH)} (${formatNumber(ratio.least)} to ${formatNumber(ratio.most)})`,
      `${formatNumber(median(drains.map(({ nodeUs }) => nodeUs)))} + ${formatNumber(median(drains.map(({ postgresUs }) => postgresUs)))}`,
      formatNumber(median(drains.map(({ perSecond }) => perSecond))),
    ];
    return `| ${cells.join(" | ")} |`;
  });
  return [
    `| finished deliveries in the log | CPU relative to the first row, budget ≤ ${MAX_GROWTH} | CPU µs per delivery: Node + PostgreSQL | deliveries/s |`,
    "|---|---|---|---|",
    ...lines,
  ].join("\n");
}

function atLeast(value: number, limit: number): string {
  return value >= limit ? formatNumber(value) : `**${formatNumber(value)}**`;
}

function atMost(value: number, limit: number): string {
  return value <= limit ? formatNumber(value) : `**${formatNumber(value)}**`;
}
