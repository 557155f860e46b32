/** What waits for one endpoint, when its circuit lets something through, and who gets how much where not all can. */

export interface PendingGroup {
  /** When it could first have been sent. */
  sinceS: number;
  count: number;
  /** Which attempt is to be made. */
  attempt: number;
}

/** First come, first served. */
export class FifoQueue {
  #waiting: PendingGroup[] = [];
  /** Before it everything has been taken. */
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

  /** At most `count`, the longest waiting first. */
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

/** Of what is taken while both wait, the part that is to be sent again. */
const RETRY_SHARE = 0.2;

/** First attempts do not stand behind what is to be sent again, and the other way round. */
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

/** As `src/webhooks/endpoints/circuit.ts`: an endpoint that is down is probed after 30 s, then 1, 2, 4 … 15 minutes. */
export class SimulatedCircuit {
  #step = 0;
  #probeS: number | null = null;

  /** Whether deliveries can be sent; a probe that finds the endpoint down puts off the next. */
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

/** What each gets of `capacity`: all that it wants where there is enough, else nobody more than another who wants more. */
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
