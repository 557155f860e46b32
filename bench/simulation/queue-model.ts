/** The parts of the simulated dispatcher: queues, circuit breakers and the division of capacity. */

export interface PendingGroup {
  /** The second from which it could be sent. */
  sinceS: number;
  count: number;
  /** Number of the next attempt, from 1. */
  attempt: number;
}

/** First in, first out. */
export class FifoQueue {
  #waiting: PendingGroup[] = [];
  /** Index of the first group that is not taken yet. */
  #first = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  enqueue(waiting: PendingGroup): void {
    if (waiting.count === 0) return;
    this.#waiting.push(waiting);
    this.#length += waiting.count;
  }

  /** Takes up to `count` deliveries, oldest first. */
  dequeue(count: number): PendingGroup[] {
    const taken: PendingGroup[] = [];
    for (let left = Math.min(count, this.#length); left > 0;) {
      const next = this.#waiting[this.#first] as PendingGroup;
      const part = { ...next, count: Math.min(left, next.count) };
      taken.push(part);
      left -= part.count;
      this.#length -= part.count;
      if (part.count === next.count) this.#first += 1;
      else this.#waiting[this.#first] = { ...next, count: next.count - part.count };
    }
    if (this.#first > 1_000) {
      this.#waiting = this.#waiting.slice(this.#first);
      this.#first = 0;
    }
    return taken;
  }
}

/** Share of retries among the taken deliveries while both queues have some. */
const RETRY_SHARE = 0.2;

/** Separate queues for first attempts and retries, so that neither blocks the other. */
export class AttemptQueues {
  readonly #first = new FifoQueue();
  readonly #again = new FifoQueue();

  get length(): number {
    return this.#first.length + this.#again.length;
  }

  enqueue(waiting: PendingGroup): void {
    (waiting.attempt === 1 ? this.#first : this.#again).enqueue(waiting);
  }

  dequeue(count: number): PendingGroup[] {
    const part = Math.max(Math.ceil(count * RETRY_SHARE), count - this.#first.length);
    const again = this.#again.dequeue(part);
    const taken = again.reduce((sum, waiting) => sum + waiting.count, 0);
    return [...this.#first.dequeue(count - taken), ...again];
  }
}

const [FIRST_PROBE_S, LAST_PROBE_S] = [30, 15 * 60];

/** Behaves like `src/webhooks/endpoints/circuit.ts`: probes a broken endpoint after 30 s, then after 1, 2, 4 … 15 minutes. */
export class SimulatedCircuit {
  #step = 0;
  #probeS: number | null = null;

  /** Returns true if deliveries can be sent. A failed probe doubles the time to the next one. */
  allows(second: number, isDown: boolean): boolean {
    if (this.#probeS !== null && second < this.#probeS) return false;
    if (!isDown) {
      this.#probeS = null;
      this.#step = 0;
      return true;
    }
    this.#probeS = second + Math.min(LAST_PROBE_S, FIRST_PROBE_S * 2 ** this.#step);
    this.#step += 1;
    return false;
  }
}

/** Divides `capacity` fairly: each gets what it wants up to an equal share, and the rest is divided among the others. */
export function fairShares(wanted: readonly number[], capacity: number): number[] {
  const total = wanted.reduce((sum, count) => sum + count, 0);
  if (total <= capacity) return [...wanted];
  const shares = wanted.map(() => 0);
  const order = [...wanted.keys()].toSorted((a, b) => (wanted[a] ?? 0) - (wanted[b] ?? 0));
  let left = capacity;
  for (const [place, at] of order.entries()) {
    const share = Math.min(wanted[at] ?? 0, Math.floor(left / (order.length - place)));
    shares[at] = share;
    left -= share;
  }
  return shares;
}
