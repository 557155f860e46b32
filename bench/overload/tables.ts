/** What was measured, as Markdown. */
import { number } from "../report.ts";
import { phaseNames, type Measured, type MeasuredPhase } from "./measure.ts";
import type { Sent } from "./protocol.ts";

const HEADINGS = [
  "requests",
  "asked",
  "asked a second",
  "answered a second",
  "of capacity",
  "refused",
  "failed",
  "answers: p50 / p99 ms",
  "× the p99 in calm",
  "the same since they were due: p99 ms",
  "refusals: p50 / p99 ms",
];
/** Budgets: docs/performance.md. */
const MOST_TIMES_CALM = 3;
const LONGEST_RECOVERY_MS = 5_000;

/** All of them together, then kind by kind where there are several. */
export function tableOf(mixture: string, { capacity, phases }: Measured): string[] {
  const kinds = [...new Set(phases.flatMap(({ sent }) => sent.map(({ kind }) => kind)))].filter(Boolean);
  const parts = kinds.length > 1 ? [null, ...kinds.toSorted()] : [null];
  return parts.flatMap((kind) => {
    const chosen = phases.map((phase) => ({ ...phase, sent: phase.sent.filter((each) => isOf(each, kind)) }));
    const calm = chosen.find(({ phase }) => phase.name === phaseNames.calm)?.sent ?? [];
    const calmMs = percentile(latencies(calm.filter(isAnswered)), 0.99);
    const name = kind === null ? mixture : `${mixture}: ${kind}`;
    return chosen.map((phase) => lineOf(name, phase, { capacity: kind === null ? capacity : null, calmMs }));
  });
}

export function tableHead(): string[] {
  return [`| ${HEADINGS.join(" | ")} |`, `|${"---|".repeat(HEADINGS.length)}`];
}

/** What was promised of all requests together and did not hold, in words. */
export function brokenIn(mixture: string, measured: Measured): string[] {
  const p99 = (name: string): number =>
    percentile(latencies(sentIn(measured, name).filter(isAnswered)), 0.99);
  const times = p99(phaseNames.overload) / p99(phaseNames.calm);
  const failed = measured.phases
    .filter(({ isProtected }) => isProtected)
    .flatMap(({ sent }) => sent)
    .filter((each) => !isAnswered(each) && !isRefused(each)).length;
  const lastMs = lastRefusedMs(sentIn(measured, phaseNames.after));
  return [
    ...(times > MOST_TIMES_CALM ? [`p99 is ${number(times)} times that of calm`] : []),
    ...(failed > 0 ? [`${failed} were neither answered nor refused`] : []),
    ...(lastMs > LONGEST_RECOVERY_MS ? [`the last was refused ${number(lastMs)} ms after the overload`] : []),
  ].map((text) => `${mixture}: ${text}`);
}

export function verdictOf(broken: readonly string[]): string {
  return broken.length === 0 ? "All that is promised held." : `**Did not hold:** ${broken.join("; ")}.`;
}

/** While protection was on. */
function sentIn({ phases }: Measured, name: string): Sent[] {
  return phases.find(({ phase, isProtected }) => isProtected && phase.name === name)?.sent ?? [];
}

function lastRefusedMs(after: readonly Sent[]): number {
  return Math.max(0, ...after.filter(isRefused).map(({ dueMs }) => dueMs));
}

/** How soon nothing was left of the overload. */
export function recoveryOf(mixture: string, measured: Measured): string {
  const after = sentIn(measured, phaseNames.after);
  const refused = after.filter(isRefused);
  const last = lastRefusedMs(after);
  return refused.length === 0
    ? `${mixture}: no request that was due after the overload was refused.`
    : `${mixture}: of the requests that were due after the overload ${refused.length} were refused, the last ${number(last)} ms after it.`;
}

function isOf({ kind }: Sent, wanted: string | null): boolean {
  return wanted === null || kind === wanted;
}

function lineOf(
  name: string,
  { phase, isProtected, sent }: MeasuredPhase,
  { capacity, calmMs }: { capacity: number | null; calmMs: number },
): string {
  const answered = sent.filter(isAnswered);
  const refused = sent.filter(isRefused);
  const answeredMs = latencies(answered);
  const dueMs = sorted(answered.map((each) => each.answeredMs - each.dueMs));
  const refusedMs = latencies(refused);
  const perSecond = answered.length / phase.seconds;
  const times = percentile(answeredMs, 0.99) / calmMs;
  const isJudged = isProtected && phase.name === phaseNames.overload;
  const failed = sent.length - answered.length - refused.length;
  const cells = [
    name,
    isProtected || phase.rate === null ? phase.name : `${phase.name}, protection off`,
    number(sent.length / phase.seconds),
    number(perSecond),
    capacity === null ? "" : percent(perSecond / capacity),
    percent(refused.length / sent.length),
    String(failed),
    `${number(percentile(answeredMs, 0.5))} / ${number(percentile(answeredMs, 0.99))}`,
    isJudged && times > MOST_TIMES_CALM ? `**${number(times)}**` : number(times),
    phase.rate === null ? "" : number(percentile(dueMs, 0.99)),
    refused.length === 0
      ? ""
      : `${number(percentile(refusedMs, 0.5))} / ${number(percentile(refusedMs, 0.99))}`,
  ];
  return `| ${cells.join(" | ")} |`;
}

function isAnswered({ status }: Sent): boolean {
  return status === 200;
}

function isRefused({ status }: Sent): boolean {
  return status === 503;
}

/** From sending to the answer. */
function latencies(sent: readonly Sent[]): number[] {
  return sorted(sent.map(({ sentMs, answeredMs }) => answeredMs - sentMs));
}

function sorted(values: number[]): number[] {
  return values.toSorted((a, b) => a - b);
}

function percentile(values: readonly number[], part: number): number {
  return values[Math.min(values.length - 1, Math.floor(values.length * part))] ?? Number.NaN;
}

function percent(part: number): string {
  return `${number(part * 100)} %`;
}
