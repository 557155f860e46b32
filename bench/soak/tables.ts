/** The report of a soak as Markdown. */
import { cpus } from "node:os";
import { median, percentile } from "../deliveries/protocol.ts";
import { number } from "../report.ts";
import { JOBS, LIMITS, operationNames, OPERATIONS, SUBSCRIBERS } from "./plan.ts";
import type { SoakResult } from "./run.ts";
import type { CpuOwner, ProcessSample, Sample } from "./samples.ts";
import { memoryOf, slopeText, type Verdict } from "./verdicts.ts";

export function reportOf(result: SoakResult, verdicts: readonly Verdict[]): string {
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

const table = (head: readonly string[], lines: readonly (readonly string[])[]): string =>
  [head, head.map(() => "---"), ...lines].map((cells) => `| ${cells.join(" | ")} |`).join("\n");

function introduction({ load, samples, ownCpu, traffic, deliveries }: SoakResult): string {
  const [first, last] = [samples[0], samples.at(-1)] as [Sample, Sample];
  const seconds = (last.atMs - first.atMs) / 1_000;
  const shareOf = (owner: CpuOwner): number => (last.cpu[owner] - first.cpu[owner]) / seconds;
  const owners: CpuOwner[] = ["APIs", "workers", "PostgreSQL", "MongoDB"];
  const shares = [
    ...owners.map((owner) => `${owner} ${number(shareOf(owner))}`),
    `callers, receivers and balancer ${number(ownCpu)}`,
  ];
  const all = owners.reduce((sum, owner) => sum + shareOf(owner), ownCpu);
  const { subscribers } = traffic;
  return [
    `Two APIs behind a balancer, two workers, ${JOBS.toLocaleString("en")} jobs; the rates below, times ${load}.`,
    `Cores in use: ${number(all)} of ${cpus().length} (${shares.join(", ")}).`,
    `${deliveries.events.toLocaleString("en")} events; ${subscribers.opened.toLocaleString("en")} subscriptions opened, ` +
      `${Math.ceil(SUBSCRIBERS * load)} at a time, which were told ${subscribers.events.toLocaleString("en")} events.`,
    `After the last change the receivers that take everything had all of it within ${number(deliveries.quietAfterS)} s.`,
  ].join(" ");
}

function operationsTable({ traffic, load }: SoakResult): string {
  const lines = operationNames.map((name) => {
    const { quartersMs, done } = traffic.operations[name];
    const pair = (part: number): string =>
      [0, 3].map((quarter) => number(percentile(quartersMs[quarter] ?? [], part))).join(", ");
    return [name, number(OPERATIONS[name] * load), done.toLocaleString("en"), pair(0.5), pair(0.99)];
  });
  return table(
    ["operation", "a second", "in all", "p50 ms: first, last quarter", "p99 ms: first, last quarter"],
    lines,
  );
}

function processesTable(result: SoakResult): string {
  const memory = new Map(memoryOf(result).map((one) => [one.name, one]));
  const names = [...new Set(result.samples.flatMap(({ processes }) => processes.map(({ name }) => name)))];
  const lines = names.map((name) => {
    const own = result.samples.flatMap(({ processes }) => processes.filter((one) => one.name === name));
    const all = (of: (sample: ProcessSample) => number): number[] => own.map(of);
    const heap = (result.heaps.get(name) ?? []).map(({ value }) => value);
    return [
      name,
      `${number(median(all(({ rssMb }) => rssMb)))}, ${number(Math.max(...all(({ rssMb }) => rssMb)))}`,
      slopeText(memory.get(name)?.rss ?? null),
      heap.length === 0 ? "-" : number(median(heap)),
      slopeText(memory.get(name)?.heap ?? null),
      `${number(median(all(({ loopP99Ms }) => loopP99Ms)))}, ${number(Math.max(...all(({ loopMostMs }) => loopMostMs)))}`,
      number(Math.max(...all(({ poolWaiting }) => poolWaiting))),
      number(Math.max(...all(({ descriptors }) => descriptors))),
    ];
  });
  return table(
    [
      "process",
      "resident MB: median, most",
      "MB/h ± 2 errors",
      "heap after a full collection, MB",
      "MB/h ± 2 errors",
      "event loop's delay ms: median of p99, most",
      "most waiting for a connection",
      "most descriptors",
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
      sum(({ taken }) => taken),
      sum(({ requests }) => requests),
      sum(({ dead }) => dead),
      sum(({ waiting }) => waiting),
      [...new Set(endpoints.map(({ status }) => status))].join("; "),
    ];
  });
  return table(
    ["receivers", "endpoints", "events for them", "taken", "requests", "dead", "waiting", "at the end"],
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
      `${number(before?.mb ?? 0)}, ${number(mb)}`,
      `${number(before?.rows ?? 0)}, ${number(rows)}`,
      `${number(Math.max(...dead))}, ${number(dead.at(-1) ?? 0)}`,
    ];
  });
  const agenda = samples.map(({ agendaJobs }) => agendaJobs);
  const connections = samples.map((sample) => sample.connections);
  return [
    table(["table", "MB with indexes: first, last", "rows: first, last", "dead rows: most, last"], lines),
    `Agenda's collection held at most ${Math.max(...agenda)} jobs and ${agenda.at(-1)} at the end; PostgreSQL had at most ` +
      `${Math.max(...connections)} connections.`,
  ].join("\n\n");
}

function verdictsTable(verdicts: readonly Verdict[]): string {
  return table(
    ["what must hold", "measured"],
    verdicts.map(({ promise, measured, holds }) => [promise, holds ? measured : `**${measured}**`]),
  );
}

function conclusion(verdicts: readonly Verdict[]): string {
  const broken = verdicts.filter(({ holds }) => !holds).length;
  const held = broken === 0 ? "All of it held." : `**${broken} did not hold.**`;
  return (
    `${held} Memory is judged over the last two thirds of the run. The heap is called growing where the slope of a straight line, one ` +
    `point a minute (the least that a full collection left), less twice its standard error, is more than ${LIMITS.heapMbAnHour} MB/h. ` +
    `Resident memory may rise by ${LIMITS.rssRiseMb} MB, from its median in the first minute to that in the last: two passwords may ` +
    `be hashed at once, in 19 MiB each.`
  );
}
