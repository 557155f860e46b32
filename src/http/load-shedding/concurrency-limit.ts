/**
 * How many requests may be in work at once. In calm so many that a burst finds room. Where requests stand in line for
 * longer than a moment, and answers take longer than they may (calm-times.ts), so few that those in work are answered in
 * time again; then more, one by one, as long as that holds. It looks a few times a second, when a request comes, and has no
 * timer. Docs: docs/decisions/0037-a-limit-that-finds-itself.md.
 */
import { BaselineLatency } from "./baseline-latency.ts";

export interface ConcurrencyLimitOptions {
  /** In calm. */
  max: number;
}

/** Under any load: enough to keep the process and PostgreSQL busy. */
const MIN_LIMIT = 4;
const ADJUST_INTERVAL_MS = 100;
/** Where fewer answers than this tell how it goes, a look may take longer. */
const MIN_SAMPLES = 10;
const MAX_ADJUST_INTERVAL_MS = 1_000;
/** With so many in work, or fewer, all the while, an answer was made in calm. */
const BASELINE_CONCURRENCY = 2;
/** A burst is no overload: before the first cut the line has stood for so many looks. */
const QUEUED_INTERVALS_BEFORE_CUT = 3;
/** Below this part of what answers may take there is room for one more. */
const RAISE_BELOW = 0.8;
/** Each cut takes a tenth away at least; and no answer alone says more than this. */
const MAX_CUT_FACTOR = 0.9;
const MAX_SAMPLE_PRESSURE = 10;
/** So often under lasting overload, and for so long, only as many as in calm are let in, to learn anew what calm is. */
const PROBE_INTERVAL_MS = 10_000;
/** Where nothing of what was answered is known. */
const PROBE_RETRY_MS = 3_000;
const PROBE_SAMPLES = 20;
const MAX_PROBE_MS = 1_000;

/** What has been seen since the last look. */
interface IntervalStats {
  startedMs: number;
  rejected: number;
  minInFlight: number;
  maxInFlight: number;
  /** Of requests that came under the present limit. */
  samples: number;
  /** Of these, those of a kind whose time in calm is known. */
  samplesWithBaseline: number;
  /** The sum of what the answers took, each as a part of what it may take. */
  pressure: number;
}

export class ConcurrencyLimit {
  readonly #max: number;
  readonly #baseline = new BaselineLatency();
  #limit: number;
  #inFlight = 0;
  #interval: IntervalStats;
  #queuedIntervals = 0;
  /** What began before has met another limit, and says nothing of this one. */
  #limitChangedMs = 0;
  #contendedMs = -1;
  /** Null: nothing is learnt on purpose. */
  #probeStartedMs: number | null = null;
  #probeSamples = 0;
  #lastProbeMs = -Infinity;

  constructor({ max }: ConcurrencyLimitOptions) {
    this.#max = Math.max(max, MIN_LIMIT);
    this.#limit = this.#max;
    this.#interval = emptyInterval(0, 0);
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get limit(): number {
    return this.#isProbing ? BASELINE_CONCURRENCY : Math.floor(this.#limit);
  }

  /** Whether fewer are let in than in calm. */
  get isReduced(): boolean {
    return this.#isProbing || this.#limit < this.#max;
  }

  get #isProbing(): boolean {
    return this.#probeStartedMs !== null;
  }

  get hasCapacity(): boolean {
    return this.#inFlight < this.limit;
  }

  onReject(): void {
    this.#interval.rejected += 1;
  }

  onStart(nowMs: number): void {
    this.#inFlight += 1;
    if (this.#inFlight > BASELINE_CONCURRENCY) this.#contendedMs = nowMs;
    if (this.#inFlight > this.#interval.maxInFlight) this.#interval.maxInFlight = this.#inFlight;
  }

  /** It is over, or its client's turn, and tells nothing. */
  onRelease(nowMs: number): void {
    if (this.#inFlight > BASELINE_CONCURRENCY) this.#contendedMs = nowMs;
    this.#inFlight -= 1;
    if (this.#inFlight < this.#interval.minInFlight) this.#interval.minInFlight = this.#inFlight;
  }

  /** It was answered as it should be. `kind`: those that take about as long. */
  onSuccess(kind: string, startedMs: number, nowMs: number): void {
    this.onRelease(nowMs);
    const tookMs = nowMs - startedMs;
    if (startedMs > this.#contendedMs) this.#recordBaseline(kind, tookMs, nowMs);
    if (startedMs < this.#limitChangedMs) return;
    this.#interval.samples += 1;
    const thresholdMs = this.#baseline.thresholdMs(kind);
    if (thresholdMs === null) return;
    this.#interval.samplesWithBaseline += 1;
    this.#interval.pressure += Math.min(tookMs / thresholdMs, MAX_SAMPLE_PRESSURE);
  }

  /** To be asked when a request comes: whether enough was seen to look what the limit should be. */
  isAdjustmentDue(nowMs: number): boolean {
    const { startedMs, samples } = this.#interval;
    const tookMs = nowMs - startedMs;
    if (tookMs < ADJUST_INTERVAL_MS) return false;
    return this.#isProbing || samples >= MIN_SAMPLES || tookMs >= MAX_ADJUST_INTERVAL_MS;
  }

  adjust(nowMs: number): void {
    if (this.#probeStartedMs === null) this.#adjustLimit(nowMs);
    else if (this.#isProbeComplete(nowMs - this.#probeStartedMs)) this.#endProbe(nowMs);
    this.#interval = emptyInterval(nowMs, this.#inFlight);
  }

  #adjustLimit(nowMs: number): void {
    const { rejected, minInFlight } = this.#interval;
    const isQueued = rejected > 0 || minInFlight > MIN_LIMIT;
    this.#queuedIntervals = isQueued ? this.#queuedIntervals + 1 : 0;
    if (!isQueued) this.#raiseTo(this.#limit * 2);
    else if (rejected > 0 || this.isReduced || this.#queuedIntervals >= QUEUED_INTERVALS_BEFORE_CUT)
      this.#respondToQueue(nowMs);
  }

  /** To a line that stands. */
  #respondToQueue(nowMs: number): void {
    const { rejected, maxInFlight, samples, samplesWithBaseline, pressure } = this.#interval;
    const isProbeDue =
      nowMs - this.#lastProbeMs >= (samplesWithBaseline === 0 ? PROBE_RETRY_MS : PROBE_INTERVAL_MS);
    // Those in work take long whoever else is let in: no reason to shut out the others for as long.
    if (samplesWithBaseline === 0 && samples < MIN_SAMPLES) this.#raiseTo(this.#limit + MIN_LIMIT);
    // Where nobody has to be refused any more, nothing need be learnt.
    else if (rejected > 0 && isProbeDue && this.#inFlight > BASELINE_CONCURRENCY) this.#startProbe(nowMs);
    else if (pressure > samplesWithBaseline)
      this.#cut(Math.min(this.#limit, maxInFlight), samplesWithBaseline / pressure, nowMs);
    else if (pressure <= samplesWithBaseline * RAISE_BELOW) this.#raiseTo(this.#limit + 1);
  }

  #raiseTo(limit: number): void {
    this.#limit = Math.min(this.#max, limit);
  }

  #cut(from: number, factor: number, nowMs: number): void {
    this.#limit = Math.max(MIN_LIMIT, from * Math.min(factor, MAX_CUT_FACTOR));
    this.#limitChangedMs = nowMs;
  }

  #recordBaseline(kind: string, tookMs: number, nowMs: number): void {
    this.#baseline.record(kind, tookMs);
    this.#probeSamples += 1;
    if (this.#probeSamples >= PROBE_SAMPLES && !this.#isProbing) this.#endProbe(nowMs);
  }

  /** Enough, or for long enough; or those who have the places keep them, and nothing is to be learnt from the others. */
  #isProbeComplete(probeMs: number): boolean {
    const isStuck =
      this.#probeSamples === 0 && !this.hasCapacity && this.#inFlight >= this.#interval.maxInFlight;
    return isStuck || this.#probeSamples >= PROBE_SAMPLES || probeMs >= MAX_PROBE_MS;
  }

  #startProbe(nowMs: number): void {
    this.#probeStartedMs = nowMs;
    this.#probeSamples = 0;
    this.#limitChangedMs = nowMs;
  }

  #endProbe(nowMs: number): void {
    if (this.#isProbing) this.#limitChangedMs = nowMs;
    this.#probeStartedMs = null;
    this.#probeSamples = 0;
    this.#lastProbeMs = nowMs;
  }
}

function emptyInterval(startedMs: number, inFlight: number): IntervalStats {
  return {
    startedMs,
    rejected: 0,
    minInFlight: inFlight,
    maxInFlight: inFlight,
    samples: 0,
    samplesWithBaseline: 0,
    pressure: 0,
  };
}
