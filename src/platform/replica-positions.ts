/**
 * How far a replica is behind, told from places in the primary's log and our own clock: no other machine's clock is asked, and
 * a primary that writes nothing leaves nobody behind.
 */

/** A place in the log, as PostgreSQL shows it (`16/B374D848`), as a number. */
export function toPosition(lsn: string): bigint {
  const [high = "", low = ""] = lsn.split("/");
  return (BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`);
}

interface Mark {
  readonly position: bigint;
  readonly atMs: number;
}

/** Marks kept: minutes of them. Who is further behind than that is told as being so far behind. */
const MAX_MARKS = 600;

/** Where the primary stood, and when. Times are of one monotonic clock, in milliseconds. */
export class PrimaryPositions {
  #marks: Mark[] = [];

  /** `atMs`: before the primary was asked. */
  add(position: bigint, atMs: number): void {
    const last = this.#marks.at(-1);
    // Another server has taken over, and begins again further back.
    if (last && position < last.position) this.#marks = [];
    this.#marks.push({ position, atMs });
    if (this.#marks.length > MAX_MARKS) this.#marks.shift();
  }

  /**
   * For how long the primary had had at `atMs` what a replica at `position` had not. Null: it is not known where the primary
   * is. `atMs`: before the replica was asked, so that what it was asked slowly counts for nothing.
   */
  lagMs(position: bigint, atMs: number): number | null {
    if (this.#marks.length === 0) return null;
    const missing = this.#marks.find((mark) => mark.position > position);
    return missing ? Math.max(0, atMs - missing.atMs) : 0;
  }

  /** When the primary had nothing yet that a replica at `position` has not. Null: nobody knows of any such time. */
  provenAtMs(position: bigint): number | null {
    return this.#marks.findLast((mark) => mark.position <= position)?.atMs ?? null;
  }

  /** Whether the primary, asked at `atMs` or later, has told where it is. */
  isSeenSince(atMs: number): boolean {
    const last = this.#marks.at(-1);
    return last !== undefined && last.atMs >= atMs;
  }

  /** Whether who was at `position` at `atMs` had what the primary did not have even later: it has another history. */
  isBeyond(position: bigint, atMs: number): boolean {
    const last = this.#marks.at(-1);
    return last !== undefined && last.atMs >= atMs && position > last.position;
  }
}
