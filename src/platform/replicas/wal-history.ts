/**
 * How far a replica is behind, told from places in the primary's log and our own clock: no other machine's clock is asked, and
 * a primary that writes nothing leaves nobody behind.
 */

/** A place in the log, as PostgreSQL shows it (`16/B374D848`), as a number. */
export function parseLsn(lsn: string): bigint {
  const [high = "", low = ""] = lsn.split("/");
  return (BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`);
}

interface WalSample {
  readonly position: bigint;
  readonly atMs: number;
}

/** Marks kept: minutes of them. Who is further behind than that is told as being so far behind. */
const MAX_SAMPLES = 600;

/** Where the primary stood, and when. Times are of one monotonic clock, in milliseconds. */
export class WalHistory {
  #samples: WalSample[] = [];

  /** `atMs`: before the primary was asked. */
  add(position: bigint, atMs: number): void {
    const last = this.#samples.at(-1);
    // Another server has taken over, and begins again further back.
    if (last && position < last.position) this.#samples = [];
    this.#samples.push({ position, atMs });
    if (this.#samples.length > MAX_SAMPLES) this.#samples.shift();
  }

  /**
   * For how long the primary had had at `atMs` what a replica at `position` had not. Null: it is not known where the primary
   * is. `atMs`: before the replica was asked, so that what it was asked slowly counts for nothing.
   */
  lagMs(position: bigint, atMs: number): number | null {
    if (this.#samples.length === 0) return null;
    const missing = this.#samples.find((mark) => mark.position > position);
    return missing ? Math.max(0, atMs - missing.atMs) : 0;
  }

  /** When the primary had nothing yet that a replica at `position` has not. Null: nobody knows of any such time. */
  caughtUpAtMs(position: bigint): number | null {
    return this.#samples.findLast((mark) => mark.position <= position)?.atMs ?? null;
  }

  /** Whether the primary, asked at `atMs` or later, has told where it is. */
  hasSampleSince(atMs: number): boolean {
    const last = this.#samples.at(-1);
    return last !== undefined && last.atMs >= atMs;
  }

  /** Whether who was at `position` at `atMs` had what the primary did not have even later: it has another history. */
  hasDiverged(position: bigint, atMs: number): boolean {
    const last = this.#samples.at(-1);
    return last !== undefined && last.atMs >= atMs && position > last.position;
  }
}
