/**
 * Adaptive limit of concurrent requests. While requests queue and take longer than their thresholds (baseline-latency.ts),
 * the limit is cut; once they are fast again, it rises step by step. See docs/decisions/0037-a-limit-that-finds-itself.md.
 */
import { BaselineLatency } from "./baseline-latency.ts";

export interface ConcurrencyLimitOptions {
  /** The limit without overload. */
  max: number;
}

/** Enough to keep the process and PostgreSQL busy. */
const MIN_LIMIT = 4;
const ADJUST_INTERVAL_MS = 100;
/** With fewer samples, the next adjustment waits for up to MAX_ADJUST_INTERVAL_MS. */
const MIN_SAMPLES = 10;
const MAX_ADJUST_INTERVAL_MS = 1_000;
/** Requests are baseline samples if at most this many were in flight during their whole duration. */
const BASELINE_CONCURRENCY = 2;
/** Consecutive intervals with a queue before the first cut, because a burst is not an overload. */
const QUEUED_INTERVALS_BEFORE_CUT = 3;
/** The limit rises if requests take less than this part of their thresholds on average. */
const RAISE_BELOW = 0.8;
/** Each cut removes at least 10 %. A single sample counts at most as MAX_SAMPLE_PRESSURE. */
const MAX_CUT_FACTOR = 0.9;
const MAX_SAMPLE_PRESSURE = 10;
/** Time between probes under lasting overload. A probe admits BASELINE_CONCURRENCY requests to measure the baseline again. */
const PROBE_INTERVAL_MS = 10_000;
/** Time between probes if no sample has a baseline. */
const PROBE_RETRY_MS = 3_000;
const PROBE_SAMPLES = 20;
const MAX_PROBE_MS = 1_000;

/** Measurements since the last adjustment. */
interface IntervalStats {
  startedMs: number;
  rejected: number;
  minInFlight: number;
  maxInFlight: number;
  /** Successful requests that started under the current limit. */
  samples: number;
  /** Those samples whose kind has a baseline. */
  samplesWithBaseline: number;
  /** Sum of duration / threshold of these samples. */
  pressure: number;
}

export class ConcurrencyLimit {
  readonly #max: number;
  readonly #baseline = new BaselineLatency();
  #limit: number;
  #inFlight = 0;
  #interval: IntervalStats;
  #queuedIntervals = 0;
  /** Requests that started earlier are not samples of the current limit. */
  #limitChangedMs = 0;
  /** Last time at which more than BASELINE_CONCURRENCY requests were in flight. */
  #contendedMs = -1;
  /** Null if no probe is running. */
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

  /** True if the limit is below its maximum. */
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

  /** The request finished or waits for its client. It does not count as a sample. */
  onRelease(nowMs: number): void {
    if (this.#inFlight > BASELINE_CONCURRENCY) this.#contendedMs = nowMs;
    this.#inFlight -= 1;
    if (this.#inFlight < this.#interval.minInFlight) this.#interval.minInFlight = this.#inFlight;
  }

  /** The request succeeded. `kind` groups requests of similar duration. */
  onSuccess(kind: string, startedMs: number, nowMs: number): void {
    this.onRelease(nowMs);
    const durationMs = nowMs - startedMs;
    if (startedMs > this.#contendedMs) this.#recordBaseline(kind, durationMs, nowMs);
    if (startedMs < this.#limitChangedMs) return;
    this.#interval.samples += 1;
    const thresholdMs = this.#baseline.thresholdMs(kind);
    if (thresholdMs === null) return;
    this.#interval.samplesWithBaseline += 1;
    this.#interval.pressure += Math.min(durationMs / thresholdMs, MAX_SAMPLE_PRESSURE);
  }

  /** Call it for every request: there is no timer. Returns true if it is time to call `adjust`. */
  isAdjustmentDue(nowMs: number): boolean {
    const { startedMs, samples } = this.#interval;
    const elapsedMs = nowMs - startedMs;
    if (elapsedMs < ADJUST_INTERVAL_MS) return false;
    return this.#isProbing || samples >= MIN_SAMPLES || elapsedMs >= MAX_ADJUST_INTERVAL_MS;
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

  /** Cuts, raises or probes while requests queue. */
  #respondToQueue(nowMs: number): void {
    const { rejected, maxInFlight, samples, samplesWithBaseline, pressure } = this.#interval;
    const isProbeDue =
      nowMs - this.#lastProbeMs >= (samplesWithBaseline === 0 ? PROBE_RETRY_MS : PROBE_INTERVAL_MS);
    // The requests in flight are slow at any limit: admit others meanwhile.
    if (samplesWithBaseline === 0 && samples < MIN_SAMPLES) this.#raiseTo(this.#limit + MIN_LIMIT);
    // A probe is only worthwhile while requests are rejected.
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

  #recordBaseline(kind: string, durationMs: number, nowMs: number): void {
    this.#baseline.record(kind, durationMs);
    this.#probeSamples += 1;
    if (this.#probeSamples >= PROBE_SAMPLES && !this.#isProbing) this.#endProbe(nowMs);
  }

  /** True after enough samples or enough time, or if long requests occupy all permits, so that no sample can come. */
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
