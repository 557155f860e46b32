/** What is promised, and whether it held. */
import { RELIABLE_BEHAVIOURS, MIN_MINUTES, LIMITS, operationNames, type OperationName } from "./plan.ts";
import { fitLine, aggregateByMinute, type Point, type LinearFit } from "./linear-regression.ts";
import type { EndpointOutcome } from "./deliveries.ts";
import type { SoakResult } from "./run.ts";
import type { Sample } from "./samples.ts";
import type { OperationFigures } from "./traffic.ts";
import { median, percentile } from "../deliveries/protocol.ts";

export interface SoakAssertion {
  expectation: string;
  measured: string;
  holds: boolean;
}

export interface MemoryTrend {
  name: string;
  rss: LinearFit | null;
  /** From the first minute to the last, MB. */
  rssRiseMb: number;
  heap: LinearFit | null;
}

/** Through the last two thirds of the run. */
export function measureMemoryTrends({ samples, heaps }: SoakResult): MemoryTrend[] {
  const firstMs = samples[0]?.atMs ?? 0;
  const lastMs = samples.at(-1)?.atMs ?? 0;
  const fromMs = firstMs + (lastMs - firstMs) / 3;
  const late = (points: readonly Point[]): Point[] =>
    points.filter(({ atMs }) => atMs >= fromMs && atMs <= lastMs);
  return Array.from(heaps, ([name, heap]) => {
    const rss = samples.flatMap(({ atMs, processes }) =>
      processes.filter((one) => one.name === name).map(({ rssMb }): Point => ({ atMs, value: rssMb })),
    );
    const ofMinutes = aggregateByMinute(late(rss), median);
    return {
      name,
      rss: fitLine(late(rss), median),
      rssRiseMb: (ofMinutes.at(-1)?.y ?? 0) - (ofMinutes[0]?.y ?? 0),
      heap: fitLine(late(heap), (values) => Math.min(...values)),
    };
  });
}

export function evaluateSoak(result: SoakResult): SoakAssertion[] {
  return [
    ...trafficAssertions(result),
    ...deliveryAssertions(result),
    ...stateAssertions(result),
    ...memoryAssertions(result),
  ];
}

const expectNone = (expectation: string, count: number, detail = ""): SoakAssertion => ({
  expectation,
  measured: `${count.toLocaleString("en")}${detail}`,
  holds: count === 0,
});

function trafficAssertions({
  traffic,
  unanswered,
  loggedMessages,
  subscriptions,
}: SoakResult): SoakAssertion[] {
  const figures = Object.values(traffic.operationFigures);
  const failed = figures.reduce((sum, one) => sum + one.failed, 0);
  const skipped = figures.reduce((sum, one) => sum + one.skipped, 0);
  const { failures, duplicates } = traffic.subscribers;
  const errors = [...loggedMessages.errors.values()].reduce((sum, count) => sum + count, 0);
  return [
    expectNone("requests that failed", failed, firstOf(traffic.failures)),
    expectNone("requests that were too many under way to be sent", skipped),
    expectNone("requests that no API answered", unanswered),
    expectNone("subscriptions that ended by themselves", failures.length, firstOf(failures)),
    expectNone("events that a subscription told twice", duplicates),
    expectNone(
      "events that a subscription left out, between the first and the last that it told",
      subscriptions.missed,
    ),
    expectNone("events of others that a subscription told", subscriptions.strange),
    expectNone("errors logged", errors, firstOf([...loggedMessages.errors.keys()])),
    latencyAssertion(traffic.operationFigures),
  ];
}

/** Compares each operation's p50 in the last quarter of the run with that in the first, if both have enough calls. */
export function latencyAssertion(
  figures: Readonly<Record<OperationName, Pick<OperationFigures, "quartersMs">>>,
): SoakAssertion {
  const quartersOf = (name: OperationName): [number[], number[]] => {
    const { quartersMs } = figures[name];
    return [quartersMs[0] ?? [], quartersMs[3] ?? []];
  };
  const [judged, unjudged] = [true, false].map((isJudged) =>
    operationNames.filter(
      (name) => quartersOf(name).every((calls) => calls.length >= LIMITS.minCalls) === isJudged,
    ),
  ) as [OperationName[], OperationName[]];
  const slower = judged.filter((name) => {
    const [first, last] = quartersOf(name).map((calls) => percentile(calls, 0.5)) as [number, number];
    return last > first * LIMITS.slowdown && last > first + LIMITS.slowerByMs;
  });
  const detail = unjudged.length === 0 ? "" : `; too few calls to judge: ${unjudged.join(", ")}`;
  return expectNone(
    `operations whose p50 in the last quarter is more than ${LIMITS.slowdown} times that in the first`,
    slower.length,
    `${firstOf(slower)}${detail}`,
  );
}

function deliveryAssertions({ deliveries, traffic }: SoakResult): SoakAssertion[] {
  const { endpoints, events, stuck } = deliveries;
  const faithful = endpoints.filter(({ behaviour }) => RELIABLE_BEHAVIOURS.has(behaviour));
  const sum = (of: (one: EndpointOutcome) => number, all = faithful): number =>
    all.reduce((total, one) => total + of(one), 0);
  const gone = endpoints.filter(({ behaviour }) => behaviour === "gone");
  return [
    expectNone(
      "changes answered with success without an event of theirs, or events without",
      traffic.changes - events,
    ),
    expectNone(
      "events that a receiver that takes them never got",
      sum(({ missing }) => missing),
    ),
    expectNone(
      "events that came to somebody they are not for",
      sum(({ unexpected }) => unexpected, endpoints),
    ),
    expectNone(
      "events taken twice",
      sum(({ duplicates }) => duplicates, endpoints),
    ),
    expectNone(
      "wrong signatures",
      sum(({ wrongSignatures }) => wrongSignatures, endpoints),
    ),
    expectNone(
      "requests without an attempt on record, or the reverse",
      sum(({ requests, attemptsOnRecord }) => Math.abs(requests - attemptsOnRecord)),
    ),
    expectNone("deliveries stuck", stuck + sum(({ waiting }) => waiting)),
    expectNone(
      "endpoints that answered 410 and were not disabled",
      gone.filter(({ status }) => status !== "disabled, gone").length,
    ),
  ];
}

const atMost = (promise: string, value: number, limit: number): SoakAssertion => ({
  expectation: `${promise}, at most ${limit.toLocaleString("en")}`,
  measured: value.toLocaleString("en", { maximumFractionDigits: 1 }),
  holds: value <= limit,
});

const rowsOf =
  (name: string) =>
  ({ tables }: Sample): number =>
    tables.find((table) => table.name === name)?.rows ?? 0;

function stateAssertions({ samples }: SoakResult): SoakAssertion[] {
  const most = (of: (sample: Sample) => number): number => Math.max(...samples.map(of));
  return [
    atMost(
      "longest that a delivery to a receiver that takes everything was due, s",
      most(({ oldestDueS }) => oldestDueS),
      LIMITS.dueS,
    ),
    atMost(
      "jobs in Agenda's collection",
      most(({ agendaTasks }) => agendaTasks),
      LIMITS.agendaJobs,
    ),
    atMost("changes of the counters not folded yet", most(rowsOf("job_counter_delta")), LIMITS.countChanges),
  ];
}

function memoryAssertions(result: SoakResult): SoakAssertion[] {
  return measureMemoryTrends(result).flatMap(({ name, rssRiseMb, heap }) => [
    expectNoGrowth(`${name}: heap after a full collection`, heap, LIMITS.heapMbAnHour),
    atMost(`${name}: resident memory's rise, MB`, rssRiseMb, LIMITS.rssRiseMb),
  ]);
}

/** Growth is proven where the slope less twice its error is past the limit. */
function expectNoGrowth(of: string, slope: LinearFit | null, limit: number): SoakAssertion {
  const expectation = `${of}, MB/h, at most ${limit}`;
  if (slope === null || slope.minutes < MIN_MINUTES)
    return { expectation, measured: `${formatSlope(slope)}: too few minutes to judge`, holds: true };
  return {
    expectation,
    measured: formatSlope(slope),
    holds: slope.slopePerHour - 2 * slope.standardErrorPerHour <= limit,
  };
}

export function formatSlope(slope: LinearFit | null): string {
  if (slope === null) return "-";
  const [anHour, error] = [slope.slopePerHour, 2 * slope.standardErrorPerHour].map((value) =>
    Math.round(value),
  );
  return `${anHour} ± ${error}`;
}

function firstOf(texts: readonly string[]): string {
  return texts[0] === undefined ? "" : ` (such as: ${texts[0].replaceAll(/[|\n]/g, " ").slice(0, 160)})`;
}
