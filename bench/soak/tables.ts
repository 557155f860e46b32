/** Formats the report of a soak as Markdown. */
import { cpus } from "node:os";
import { median, percentile } from "../deliveries/protocol.ts";
import { formatNumber } from "../report.ts";
import { JOBS, LIMITS, operationNames, OPERATIONS, SUBSCRIBERS } from "./plan.ts";
import type { SoakResult } from "./run.ts";
import type { CpuOwner, ProcessSample, Sample } from "./samples.ts";
import { measureMemoryTrends, formatSlope, type SoakAssertion } from "./assertions.ts";

export function formatSoakReport(result: SoakResult, verdicts: readonly SoakAssertion[]): string {
  return [
    introduction(result),
    operationsTable(result),
    processesTable(result),
    receiversTable(result),
    tablesTable(result),
    verdictsTable(verdicts),
    conclusion(verdicts),
  ].join("\n\n");
}

const formatTable = (head: readonly string[], lines: readonly (readonly string[])[]): string =>
  [head, head.map(() => "---"), ...lines].map((cells) => `| ${cells.join(" | ")} |`).join("\n");

function introduction({ load, samples, ownCpu, traffic, deliveries }: SoakResult): string {
  const [first, last] = [samples[0], samples.at(-1)] as [Sample, Sample];
  const seconds = (last.atMs - first.atMs) / 1_000;
  const shareOf = (owner: CpuOwner): number => (last.cpu[owner] - first.cpu[owner]) / seconds;
  const owners: CpuOwner[] = ["APIs", "workers", "PostgreSQL", "MongoDB"];
  const shares = [
    ...owners.map((owner) => `${owner} ${formatNumber(shareOf(owner))}`),
    `callers, receivers and balancer ${formatNumber(ownCpu)}`,
  ];
  const all = owners.reduce((sum, owner) => sum + shareOf(owner), ownCpu);
  const { subscribers } = traffic;
  return [
    `Two APIs behind a balancer, two workers, ${JOBS.toLocaleString("en")} jobs; load factor ${load}.`,
    `CPU cores used: ${formatNumber(all)} of ${cpus().length} (${shares.join(", ")}).`,
    `${deliveries.events.toLocaleString("en")} events; ${subscribers.opened.toLocaleString("en")} subscriptions opened, ` +
      `${Math.ceil(SUBSCRIBERS * load)} at a time, which received ${subscribers.events.toLocaleString("en")} events.`,
    `The reliable receivers had every event ${formatNumber(deliveries.drainedAfterS)} s after the last change.`,
  ].join(" ");
}

function operationsTable({ traffic, load }: SoakResult): string {
  const lines = operationNames.map((name) => {
    const { quartersMs, done } = traffic.operationFigures[name];
    const pair = (part: number): string =>
      [0, 3].map((quarter) => formatNumber(percentile(quartersMs[quarter] ?? [], part))).join(", ");
    return [name, formatNumber(OPERATIONS[name] * load), done.toLocaleString("en"), pair(0.5), pair(0.99)];
  });
  return formatTable(
    ["operation", "calls/s", "calls", "p50 ms: first, last quarter", "p99 ms: first, last quarter"],
    lines,
  );
}

function processesTable(result: SoakResult): string {
  const memory = new Map(measureMemoryTrends(result).map((one) => [one.name, one]));
  const names = [...new Set(result.samples.flatMap(({ processes }) => processes.map(({ name }) => name)))];
  const lines = names.map((name) => {
    const own = result.samples.flatMap(({ processes }) => processes.filter((one) => one.name === name));
    const all = (of: (sample: ProcessSample) => number): number[] => own.map(of);
    const heap = (result.heaps.get(name) ?? []).map(({ value }) => value);
    return [
      name,
      `${formatNumber(median(all(({ rssMb }) => rssMb)))}, ${formatNumber(Math.max(...all(({ rssMb }) => rssMb)))}`,
      formatSlope(memory.get(name)?.rss ?? null),
      heap.length === 0 ? "-" : formatNumber(median(heap)),
      formatSlope(memory.get(name)?.heap ?? null),
      `${formatNumber(median(all(({ loopP99Ms }) => loopP99Ms)))}, ${formatNumber(Math.max(...all(({ loopMaxMs }) => loopMaxMs)))}`,
      formatNumber(Math.max(...all(({ poolWaiting }) => poolWaiting))),
      formatNumber(Math.max(...all(({ descriptors }) => descriptors))),
    ];
  });
  return formatTable(
    [
      "process",
      "resident MB: median, max",
      "MB/h ± 2 errors",
      "heap after full collection, MB",
      "MB/h ± 2 errors",
      "event loop delay ms: median p99, max",
      "max waiting for a connection",
      "max descriptors",
    ],
    lines,
  );
}

function receiversTable({ deliveries }: SoakResult): string {
  const kinds = [...Map.groupBy(deliveries.endpoints, ({ behaviour }) => behaviour)];
  const lines = kinds.map(([behaviour, endpoints]) => {
    const sum = (of: (one: (typeof endpoints)[number]) => number): string =>
      endpoints.reduce((total, one) => total + of(one), 0).toLocaleString("en");
    return [
      behaviour,
      String(endpoints.length),
      sum(({ events }) => events),
      sum(({ accepted }) => accepted),
      sum(({ requests }) => requests),
      sum(({ failed }) => failed),
      sum(({ pending }) => pending),
      [...new Set(endpoints.map(({ status }) => status))].join("; "),
    ];
  });
  return formatTable(
    ["receivers", "endpoints", "events", "accepted", "requests", "failed", "pending", "status at the end"],
    lines,
  );
}

function tablesTable({ samples }: SoakResult): string {
  const [first, last] = [samples[0], samples.at(-1)] as [Sample, Sample];
  const lines = last.tables.map(({ name, mb, rows }) => {
    const before = first.tables.find((one) => one.name === name);
    const dead = samples.map((sample) => sample.tables.find((one) => one.name === name)?.deadRows ?? 0);
    return [
      name,
      `${formatNumber(before?.mb ?? 0)}, ${formatNumber(mb)}`,
      `${formatNumber(before?.rows ?? 0)}, ${formatNumber(rows)}`,
      `${formatNumber(Math.max(...dead))}, ${formatNumber(dead.at(-1) ?? 0)}`,
    ];
  });
  const agenda = samples.map(({ agendaTasks }) => agendaTasks);
  const connections = samples.map((sample) => sample.connections);
  return [
    formatTable(
      ["table", "MB with indexes: first, last", "rows: first, last", "dead rows: max, last"],
      lines,
    ),
    `Agenda's collection held at most ${Math.max(...agenda)} tasks, and ${agenda.at(-1)} at the end; PostgreSQL had at most ` +
      `${Math.max(...connections)} connections.`,
  ].join("\n\n");
}

function verdictsTable(verdicts: readonly SoakAssertion[]): string {
  return formatTable(
    ["assertion", "measured"],
    verdicts.map(({ expectation, measured, holds }) => [expectation, holds ? measured : `**${measured}**`]),
  );
}

function conclusion(verdicts: readonly SoakAssertion[]): string {
  const broken = verdicts.filter(({ holds }) => !holds).length;
  const held = broken === 0 ? "All assertions hold." : `**${broken} assertions fail.**`;
  return (
    `${held} Memory is judged over the last two thirds of the run. The heap grows if the slope of a straight line through the smallest ` +
    `heap of each minute, minus twice its standard error, exceeds ${LIMITS.heapMbAnHour} MB/h. Resident memory may rise by ` +
    `${LIMITS.rssRiseMb} MB between the medians of the first and the last minute: two passwords may be hashed concurrently, ` +
    `in 19 MiB each.`
  );
}
