/** What each kind of request takes while the server is calm, and so how long it may take at most when it is not. */

/** Twice as long; and what takes next to nothing may wait for a few milliseconds, which nobody notices. */
const TIMES_AS_LONG = 2;
const LONGER_BY_MS = 3;
/** The mean goes over about so many of the last. */
const MEMORY = 16;
/** Before, nothing is said: the first of a kind find nothing prepared. */
const ENOUGH = 8;
/** One that met a pause counts as one that took so many times the mean. */
const OUTLIER = 4;

interface Mean {
  seen: number;
  ms: number;
}

export class CalmTimes {
  readonly #means = new Map<string, Mean>();

  /** One of `kind` took `tookMs`, and hardly another was in work meanwhile. Kinds are few: they are never forgotten. */
  learn(kind: string, tookMs: number): void {
    const mean = this.#means.get(kind);
    if (!mean) {
      this.#means.set(kind, { seen: 1, ms: tookMs });
      return;
    }
    mean.seen += 1;
    const counted = mean.seen > ENOUGH ? Math.min(tookMs, mean.ms * OUTLIER) : tookMs;
    mean.ms += (counted - mean.ms) / Math.min(mean.seen, MEMORY);
  }

  /** Null: not known yet. */
  allowedMs(kind: string): number | null {
    const mean = this.#means.get(kind);
    if (!mean || mean.seen < ENOUGH) return null;
    return Math.max(mean.ms * TIMES_AS_LONG, mean.ms + LONGER_BY_MS);
  }
}
