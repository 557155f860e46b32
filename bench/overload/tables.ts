/** Formats the results as Markdown. */
import type { SentRequest } from "../load.ts";
import { formatJudged, formatNumber } from "../report.ts";
import { percentile } from "../statistics.ts";
import { phaseNames, type OverloadResult, type MeasuredPhase } from "./measure.ts";
import type { Mixture } from "./traffic.ts";

export const HEADINGS = [
  "requests",
  "offered load",
  "requests/s",
  "responses/s",
  "of capacity",
  "refused",
  "failed",
  "responses: p50 / p99 ms",
  "p99 ÷ p99 at 30 %",
  "p99 ms from due time",
  "refusals: p50 / p99 ms",
];
/** Budgets (docs/engineering/performance/overload.md): p99 at 300 % relative to 30 %, the last refusal after the overload, and p99 of liveness. */
const MAX_LATENCY_RATIO: Readonly<Record<Mixture, number>> = { lists: 3, mixed: 5 };
const MAX_RECOVERY_MS = 5_000;
const MAX_LIVENESS_MS = 250;

/** Formats the rows of all requests together, and one row per kind if there are several kinds. */
export function formatOverload(mixture: Mixture, { capacity, phases }: OverloadResult): string[][] {
  const maxLatencyRatio = MAX_LATENCY_RATIO[mixture];
  const kinds = [...new Set(phases.flatMap(({ sent }) => sent.map(({ kind }) => kind)))].filter(Boolean);
  const parts = kinds.length > 1 ? [null, ...kinds.toSorted()] : [null];
  return parts.flatMap((kind) => {
    const chosen = phases.map((phase) => ({ ...phase, sent: phase.sent.filter((each) => isOf(each, kind)) }));
    const calm = chosen.find(({ phase }) => phase.name === phaseNames.calm)?.sent ?? [];
    const calmMs = percentile(latencies(calm.filter(isAnswered)), 0.99);
    const name = kind === null ? mixture : `${mixture}: ${kind}`;
    return chosen.map((phase) =>
      formatLine(name, phase, { capacity: kind === null ? capacity : null, calmMs, maxLatencyRatio }),
    );
  });
}

/** Describes each missed budget; budgets apply to all requests of a mixture together. */
export function findBrokenPromises(mixture: Mixture, measured: OverloadResult): string[] {
  const p99 = (name: string): number =>
    percentile(latencies(sentInPhase(measured, name).filter(isAnswered)), 0.99);
  const times = p99(phaseNames.overload) / p99(phaseNames.calm);
  const failed = measured.phases
    .filter(({ isProtected }) => isProtected)
    .flatMap(({ sent }) => sent)
    .filter((each) => !isAnswered(each) && !isRejected(each)).length;
  const lastMs = lastRejectedMs(sentInPhase(measured, phaseNames.after));
  const livenessMs = percentile(measured.livenessMs, 0.99);
  return [
    ...(times > MAX_LATENCY_RATIO[mixture] ? [`p99 is ${formatNumber(times)} times that at 30 %`] : []),
    ...(failed > 0 ? [`${failed} requests got neither a response nor a refusal`] : []),
    ...(lastMs > MAX_RECOVERY_MS
      ? [`the last refusal came ${formatNumber(lastMs)} ms after the overload`]
      : []),
    ...(livenessMs > MAX_LIVENESS_MS ? [`p99 of liveness is ${formatNumber(livenessMs)} ms`] : []),
  ].map((text) => `${mixture}: ${text}`);
}

/** Describes the probes of liveness during the overload. */
export function formatLiveness(mixture: Mixture, { livenessMs }: OverloadResult): string {
  const [p50, p99] = [0.5, 0.99].map((share) => formatNumber(percentile(livenessMs, share)));
  return `${mixture}: \`/health/live\` took ${p50} / ${p99} ms during the overload (p50 / p99).`;
}

export function formatVerdict(broken: readonly string[]): string {
  return broken.length === 0 ? "All budgets are met." : `**Missed:** ${broken.join("; ")}.`;
}

/** Returns the requests of a phase with protection. */
function sentInPhase({ phases }: OverloadResult, name: string): SentRequest[] {
  return phases.find(({ phase, isProtected }) => isProtected && phase.name === name)?.sent ?? [];
}

function lastRejectedMs(after: readonly SentRequest[]): number {
  return Math.max(0, ...after.filter(isRejected).map(({ dueMs }) => dueMs));
}

function isOf({ kind }: SentRequest, expectedKind: string | null): boolean {
  return expectedKind === null || kind === expectedKind;
}

function formatLine(
  name: string,
  { phase, isProtected, sent }: MeasuredPhase,
  { capacity, calmMs, maxLatencyRatio }: { capacity: number | null; calmMs: number; maxLatencyRatio: number },
): string[] {
  const answered = sent.filter(isAnswered);
  const refused = sent.filter(isRejected);
  const seconds = phase.seconds ?? Number.NaN;
  const perSecond = answered.length / seconds;
  const isJudged = isProtected && phase.name === phaseNames.overload;
  const times = {
    value: percentile(latencies(answered), 0.99) / calmMs,
    ...(isJudged && { max: maxLatencyRatio }),
  };
  const dueMs = answered.map((each) => each.answeredMs - each.dueMs);
  return [
    name,
    isProtected || phase.rate === null ? phase.name : `${phase.name}, protection off`,
    formatNumber(sent.length / seconds),
    formatNumber(perSecond),
    capacity === null ? "" : percent(perSecond / capacity),
    percent(refused.length / sent.length),
    String(sent.length - answered.length - refused.length),
    formatLatencies(answered),
    formatJudged(times),
    phase.rate === null ? "" : formatNumber(percentile(dueMs, 0.99)),
    refused.length === 0 ? "" : formatLatencies(refused),
  ];
}

function isAnswered({ status }: SentRequest): boolean {
  return status === 200;
}

function isRejected({ status }: SentRequest): boolean {
  return status === 503;
}

/** Returns the times from sending to the response. */
function latencies(sent: readonly SentRequest[]): number[] {
  return sent.map(({ sentMs, answeredMs }) => answeredMs - sentMs);
}

function formatLatencies(sent: readonly SentRequest[]): string {
  const ms = latencies(sent);
  return `${formatNumber(percentile(ms, 0.5))} / ${formatNumber(percentile(ms, 0.99))}`;
}

function percent(part: number): string {
  return `${formatNumber(part * 100)} %`;
}
