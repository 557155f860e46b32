/**
 * Computes replication lag from the primary's past WAL positions and this process's clock, so that clock differences between
 * machines do not matter and an idle primary causes no lag.
 */

/** Converts a log sequence number such as `16/B374D848` to a bigint. */
export function parseLsn(lsn: string): bigint {
  const [high = "", low = ""] = lsn.split("/");
  return (BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`);
}

interface WalSample {
  readonly position: bigint;
  readonly atMs: number;
}

/** Two and a half minutes at four samples a second, which is also the largest lag it can report. */
const MAX_SAMPLES = 600;

/** Samples of the primary's WAL position. Times are milliseconds of one monotonic clock. */
export class WalHistory {
  #samples: WalSample[] = [];

  /** Adds a sample. `atMs` is the time before the primary was probed. */
  add(position: bigint, atMs: number): void {
    const last = this.#samples.at(-1);
    // After a failover the new primary can be at an earlier position.
    if (last && position < last.position) this.#samples = [];
    this.#samples.push({ position, atMs });
    if (this.#samples.length > MAX_SAMPLES) this.#samples.shift();
  }

  /**
   * Returns the lag at `atMs` of a replica at `position`, or null without samples. Pass the time before the replica was
   * probed, so that a slow probe does not add to the lag.
   */
  lagMs(position: bigint, atMs: number): number | null {
    if (this.#samples.length === 0) return null;
    const firstMissing = this.#samples.find((sample) => sample.position > position);
    return firstMissing ? Math.max(0, atMs - firstMissing.atMs) : 0;
  }

  /** Returns the time of the last sample that a replica at `position` has caught up with, or null. */
  caughtUpAtMs(position: bigint): number | null {
    return this.#samples.findLast((sample) => sample.position <= position)?.atMs ?? null;
  }

  /** True if a probe of the primary that started at `atMs` or later succeeded. */
  hasSampleSince(atMs: number): boolean {
    const last = this.#samples.at(-1);
    return last !== undefined && last.atMs >= atMs;
  }

  /** True if a replica at `position` at `atMs` was ahead of a later primary position, so it is on another timeline. */
  hasDiverged(position: bigint, atMs: number): boolean {
    const last = this.#samples.at(-1);
    return last !== undefined && last.atMs >= atMs && position > last.position;
  }
}
