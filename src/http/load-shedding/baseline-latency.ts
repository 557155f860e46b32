/** Baseline latency per kind of request, measured at low load, and the threshold derived from it. */

/** The threshold is twice the mean, or the mean plus 3 ms if that is more: such a delay is not noticeable. */
const THRESHOLD_FACTOR = 2;
const THRESHOLD_MARGIN_MS = 3;
/** The mean covers about this many of the last samples. */
const WINDOW_SIZE = 16;
/** There is no threshold before this many samples, because the first requests of a kind run cold. */
const MIN_SAMPLES = 8;
/** A sample counts as at most this multiple of the mean, so that pauses of the process don't distort it. */
const OUTLIER_FACTOR = 4;

interface RunningMean {
  count: number;
  meanMs: number;
}

export class BaselineLatency {
  readonly #meanByKind = new Map<string, RunningMean>();

  /** Records the duration of a request that ran at low load. Kinds are few, so none is ever removed. */
  record(kind: string, durationMs: number): void {
    const mean = this.#meanByKind.get(kind);
    if (!mean) {
      this.#meanByKind.set(kind, { count: 1, meanMs: durationMs });
      return;
    }
    mean.count += 1;
    const cappedMs =
      mean.count > MIN_SAMPLES ? Math.min(durationMs, mean.meanMs * OUTLIER_FACTOR) : durationMs;
    mean.meanMs += (cappedMs - mean.meanMs) / Math.min(mean.count, WINDOW_SIZE);
  }

  /** Returns null while there are too few samples of `kind`. */
  thresholdMs(kind: string): number | null {
    const mean = this.#meanByKind.get(kind);
    if (!mean || mean.count < MIN_SAMPLES) return null;
    return Math.max(mean.meanMs * THRESHOLD_FACTOR, mean.meanMs + THRESHOLD_MARGIN_MS);
  }
}
