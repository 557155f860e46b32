/** What is promised, and whether it held. */
import { FAITHFUL, LEAST_MINUTES, LIMITS, operationNames } from "./plan.ts";
import { fitSlope, minutesOf, type Point, type Slope } from "./fit.ts";
import type { EndpointOutcome } from "./deliveries.ts";
import type { SoakResult } from "./run.ts";
import type { Sample } from "./samples.ts";
import { median, percentile } from "../deliveries/protocol.ts";

export interface Verdict {
  promise: string;
  measured: string;
  holds: boolean;
}

export interface Memory {
  name: string;
  rss: Slope | null;
  /** From the first minute to the last, MB. */
  rssRise: number;
  heap: Slope | null;
}

/** Through the last two thirds of the run. */
export function memoryOf({ samples, heaps }: SoakResult): Memory[] {
  const firstMs = samples[0]?.atMs ?? 0;
  const lastMs = samples.at(-1)?.atMs ?? 0;
  const fromMs = firstMs + (lastMs - firstMs) / 3;
  const late = (points: readonly Point[]): Point[] =>
    points.filter(({ atMs }) => atMs >= fromMs && atMs <= lastMs);
  return Array.from(heaps, ([name, heap]) => {
    const rss = samples.flatMap(({ atMs, processes }) =>
      processes.filter((one) => one.name === name).map(({ rssMb }): Point => ({ atMs, value: rssMb })),
    );
    const ofMinutes = minutesOf(late(rss), median);
    return {
      name,
      rss: fitSlope(late(rss), median),
      rssRise: (ofMinutes.at(-1)?.y ?? 0) - (ofMinutes[0]?.y ?? 0),
      heap: fitSlope(late(heap), (values) => Math.min(...values)),
    };
  });
}

export function verdictsOf(result: SoakResult): Verdict[] {
  return [
    ...trafficVerdicts(result),
    ...deliveryVerdicts(result),
    ...stateVerdicts(result),
    ...memoryVerdicts(result),
  ];
}

const none = (promise: string, count: number, detail = ""): Verdict => ({
  promise,
  measured: `${count.toLocaleString("en")}${detail}`,
  holds: count === 0,
});

function trafficVerdicts({ traffic, unanswered, logged, subscriptions }: SoakResult): Verdict[] {
  const figures = Object.values(traffic.operations);
  const failed = figures.reduce((sum, one) => sum + one.failed, 0);
  const skipped = figures.reduce((sum, one) => sum + one.skipped, 0);
  const { failures, twice } = traffic.subscribers;
  const errors = [...logged.errors.values()].reduce((sum, count) => sum + count, 0);
  const slower = operationNames.filter((name) => {
    const [first, last] = [0, 3].map((at) =>
      percentile(traffic.operations[name].quartersMs[at] ?? [], 0.5),
    ) as [number, number];
    return last > first * LIMITS.slowdown && last > first + LIMITS.slowerByMs;
  });
  return [
    none("requests that failed", failed, firstOf(traffic.failures)),
    none("requests that were too many under way to be sent", skipped),
    none("requests that no API answered", unanswered),
    none("subscriptions that ended by themselves", failures.length, firstOf(failures)),
    none("events that a subscription told twice", twice),
    none(
      "events that a subscription left out, between the first and the last that it told",
      subscriptions.missed,
    ),
    none("events of others that a subscription told", subscriptions.strange),
    none("errors logged", errors, firstOf([...logged.errors.keys()])),
    none(
      `operations whose p50 rose to more than ${LIMITS.slowdown} times the first quarter's`,
      slower.length,
      firstOf(slower),
    ),
  ];
}

function deliveryVerdicts({ deliveries, traffic }: SoakResult): Verdict[] {
  const { endpoints, events, stuck } = deliveries;
  const faithful = endpoints.filter(({ behaviour }) => FAITHFUL.has(behaviour));
  const sum = (of: (one: EndpointOutcome) => number, all = faithful): number =>
    all.reduce((total, one) => total + of(one), 0);
  const gone = endpoints.filter(({ behaviour }) => behaviour === "gone");
  return [
    none(
      "changes answered with success without an event of theirs, or events without",
      traffic.changes - events,
    ),
    none(
      "events that a receiver that takes them never got",
      sum(({ missing }) => missing),
    ),
    none(
      "events that came to somebody they are not for",
      sum(({ strange }) => strange, endpoints),
    ),
    none(
      "events taken twice",
      sum(({ twice }) => twice, endpoints),
    ),
    none(
      "wrong signatures",
      sum(({ wrongSignatures }) => wrongSignatures, endpoints),
    ),
    none(
      "requests without an attempt on record, or the reverse",
      sum(({ requests, attemptsOnRecord }) => Math.abs(requests - attemptsOnRecord)),
    ),
    none("deliveries stuck", stuck + sum(({ waiting }) => waiting)),
    none(
      "endpoints that answered 410 and were not disabled",
      gone.filter(({ status }) => status !== "disabled, gone").length,
    ),
  ];
}

const atMost = (promise: string, value: number, limit: number): Verdict => ({
  promise: `${promise}, at most ${limit.toLocaleString("en")}`,
  measured: value.toLocaleString("en", { maximumFractionDigits: 1 }),
  holds: value <= limit,
});

const rowsOf =
  (name: string) =>
  ({ tables }: Sample): number =>
    tables.find((table) => table.name === name)?.rows ?? 0;

function stateVerdicts({ samples }: SoakResult): Verdict[] {
  const most = (of: (sample: Sample) => number): number => Math.max(...samples.map(of));
  return [
    atMost(
      "longest that a delivery to a receiver that takes everything was due, s",
      most(({ dueS }) => dueS),
      LIMITS.dueS,
    ),
    atMost(
      "jobs in Agenda's collection",
      most(({ agendaJobs }) => agendaJobs),
      LIMITS.agendaJobs,
    ),
    atMost("changes of the counters not folded yet", most(rowsOf("job_count_change")), LIMITS.countChanges),
  ];
}

function memoryVerdicts(result: SoakResult): Verdict[] {
  return memoryOf(result).flatMap(({ name, rssRise, heap }) => [
    growth(`${name}: heap after a full collection`, heap, LIMITS.heapMbAnHour),
    atMost(`${name}: resident memory's rise, MB`, rssRise, LIMITS.rssRiseMb),
  ]);
}

/** Growth is proven where the slope less twice its error is past the limit. */
function growth(of: string, slope: Slope | null, limit: number): Verdict {
  const promise = `${of}, MB/h, at most ${limit}`;
  if (slope === null || slope.minutes < LEAST_MINUTES)
    return { promise, measured: `${slopeText(slope)}: too few minutes to judge`, holds: true };
  return { promise, measured: slopeText(slope), holds: slope.anHour - 2 * slope.error <= limit };
}

export function slopeText(slope: Slope | null): string {
  if (slope === null) return "-";
  const [anHour, error] = [slope.anHour, 2 * slope.error].map((value) => Math.round(value));
  return `${anHour} ± ${error}`;
}

function firstOf(texts: readonly string[]): string {
  return texts[0] === undefined ? "" : ` (such as: ${texts[0].replaceAll(/[|\n]/g, " ").slice(0, 160)})`;
}
