/** What each kind of request takes while the server is calm, and so how long it may take at most when it is not. */

/** Twice as long; and what takes next to nothing may wait for a few milliseconds, which nobody notices. */
const THRESHOLD_FACTOR = 2;
const THRESHOLD_MARGIN_MS = 3;
/** The mean goes over about so many of the last. */
const WINDOW_SIZE = 16;
/** Before, nothing is said: the first of a kind find nothing prepared. */
const MIN_SAMPLES = 8;
/** One that met a pause counts as one that took so many times the mean. */
const OUTLIER_FACTOR = 4;

interface RunningMean {
  count: number;
  meanMs: number;
}

export class BaselineLatency {
  readonly #meanByKind = new Map<string, RunningMean>();

  /** One of `kind` took `tookMs`, and hardly another was in work meanwhile. Kinds are few: they are never forgotten. */
  record(kind: string, tookMs: number): void {
    const mean = this.#meanByKind.get(kind);
    if (!mean) {
      this.#meanByKind.set(kind, { count: 1, meanMs: tookMs });
      return;
    }
    mean.count += 1;
    const counted = mean.count > MIN_SAMPLES ? Math.min(tookMs, mean.meanMs * OUTLIER_FACTOR) : tookMs;
    mean.meanMs += (counted - mean.meanMs) / Math.min(mean.count, WINDOW_SIZE);
  }

  /** Null: not known yet. */
  thresholdMs(kind: string): number | null {
    const mean = this.#meanByKind.get(kind);
    if (!mean || mean.count < MIN_SAMPLES) return null;
    return Math.max(mean.meanMs * THRESHOLD_FACTOR, mean.meanMs + THRESHOLD_MARGIN_MS);
  }
}
