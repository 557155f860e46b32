/** The assertions of the soak and their results. */
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
  /** Difference between the medians of the first and the last minute, in MB. */
  rssRiseMb: number;
  heap: LinearFit | null;
}

/** Fits the memory of each process over the last two thirds of the run. */
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
    const byMinute = aggregateByMinute(late(rss), median);
    return {
      name,
      rss: fitLine(late(rss), median),
      rssRiseMb: (byMinute.at(-1)?.y ?? 0) - (byMinute[0]?.y ?? 0),
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
  minutes,
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
    expectNone("requests skipped because too many were in flight", skipped),
    expectNone("requests that the balancer could not get answered", unanswered),
    expectNone("subscriptions that ended unexpectedly", failures.length, firstOf(failures)),
    expectNone("events that a subscription received twice", duplicates),
    expectNone("events that a subscription missed between its first and its last", subscriptions.missed),
    expectNone("events that a subscription received of other organisations", subscriptions.foreign),
    expectNone("errors logged", errors, firstOf([...loggedMessages.errors.keys()])),
    latencyAssertion(traffic.operationFigures, minutes),
  ];
}

/**
 * Compares each operation's p50 in the last quarter of the run with that in the first, if both have enough calls. A short run
 * measures what else the machine does, so it is not judged.
 */
export function latencyAssertion(
  figures: Readonly<Record<OperationName, Pick<OperationFigures, "quartersMs">>>,
  minutes: number,
): SoakAssertion {
  const expectation = `operations whose p50 in the last quarter is more than ${LIMITS.slowdown} times that in the first`;
  if (minutes < MIN_MINUTES) return { expectation, measured: "-: too few minutes to judge", holds: true };
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
  return expectNone(expectation, slower.length, `${firstOf(slower)}${detail}`);
}

function deliveryAssertions({ deliveries, traffic }: SoakResult): SoakAssertion[] {
  const { endpoints, events, stuck } = deliveries;
  const reliable = endpoints.filter(({ behaviour }) => RELIABLE_BEHAVIOURS.has(behaviour));
  const sum = (of: (one: EndpointOutcome) => number, all = reliable): number =>
    all.reduce((total, one) => total + of(one), 0);
  const gone = endpoints.filter(({ behaviour }) => behaviour === "gone");
  return [
    expectNone("difference between confirmed changes and events", traffic.changes - events),
    expectNone(
      "events that a reliable receiver never accepted",
      sum(({ missing }) => missing),
    ),
    expectNone(
      "events sent to the wrong organisation",
      sum(({ unexpected }) => unexpected, endpoints),
    ),
    expectNone(
      "events accepted twice",
      sum(({ duplicates }) => duplicates, endpoints),
    ),
    expectNone(
      "wrong signatures",
      sum(({ wrongSignatures }) => wrongSignatures, endpoints),
    ),
    expectNone(
      "difference between requests and recorded attempts",
      sum(({ requests, attemptsOnRecord }) => Math.abs(requests - attemptsOnRecord)),
    ),
    expectNone("stuck deliveries", stuck + sum(({ pending }) => pending)),
    expectNone(
      "endpoints not disabled after 410",
      gone.filter(({ status }) => status !== "disabled, gone").length,
    ),
  ];
}

const atMost = (expectation: string, value: number, limit: number): SoakAssertion => ({
  expectation: `${expectation}, at most ${limit.toLocaleString("en")}`,
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
      "longest time that a delivery to a reliable receiver was overdue, s",
      most(({ oldestDueS }) => oldestDueS),
      LIMITS.dueS,
    ),
    atMost(
      "tasks in Agenda's collection",
      most(({ agendaTasks }) => agendaTasks),
      LIMITS.agendaJobs,
    ),
    atMost("counter changes not yet merged", most(rowsOf("job_counter_delta")), LIMITS.countChanges),
  ];
}

function memoryAssertions(result: SoakResult): SoakAssertion[] {
  return measureMemoryTrends(result).flatMap(({ name, rssRiseMb, heap }) => [
    expectNoGrowth(`${name}: growth of the heap after full collections`, heap, LIMITS.heapMbAnHour),
    atMost(`${name}: rise of resident memory, MB`, rssRiseMb, LIMITS.rssRiseMb),
  ]);
}

/** Fails only if the slope minus twice its standard error exceeds the limit. */
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
  return texts[0] === undefined ? "" : ` (for example: ${texts[0].replaceAll(/[|\n]/g, " ").slice(0, 160)})`;
}
