/** A semaphore that treats keys fairly. For work without keys, use `p-limit`. */

export interface FairSemaphoreOptions {
  /** Permits of all keys together. */
  permits: number;
  permitsPerKey: number;
  /** The last permits, which only keys without another one may take. Default: none. */
  reserved?: number;
}

/** Limits concurrent work in total and per key. Waiting keys alternate; each key is first in, first out. */
export class FairSemaphore {
  readonly #permitsPerKey: number;
  readonly #reserved: number;
  /** Waiting work by key; the first key that may start is next. */
  readonly #waiting = new Map<string, (() => void)[]>();
  readonly #running = new Map<string, number>();
  #free: number;

  constructor({ permits, permitsPerKey, reserved = 0 }: FairSemaphoreOptions) {
    this.#free = permits;
    this.#permitsPerKey = permitsPerKey;
    this.#reserved = reserved;
  }

  /** Runs `work` for `key` once a permit is free, and returns its result. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    await this.acquire(key);
    try {
      return await work();
    } finally {
      this.release(key);
    }
  }

  /** Returns the number of callers that wait for a permit of `key`. */
  waiting(key: string): number {
    return this.#waiting.get(key)?.length ?? 0;
  }

  /** Returns the number of permits that `key` has. */
  running(key: string): number {
    return this.#running.get(key) ?? 0;
  }

  /** Takes a permit, which `release` returns. The promise resolves once it is taken; none if that is now. */
  acquire(key: string): Promise<void> | undefined {
    if (this.#canStart(key)) {
      this.#start(key);
      return undefined;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    const queue = this.#waiting.get(key);
    if (queue) queue.push(resolve);
    else this.#waiting.set(key, [resolve]);
    return promise;
  }

  release(key: string): void {
    this.#free += 1;
    const remaining = this.running(key) - 1;
    if (remaining === 0) this.#running.delete(key);
    else this.#running.set(key, remaining);
    const next = this.#waiting.keys().find((waitingKey) => this.#canStart(waitingKey));
    if (next === undefined) return;
    const [first, ...others] = this.#waiting.get(next) ?? [];
    // Re-inserting moves the key behind the others.
    this.#waiting.delete(next);
    if (others.length > 0) this.#waiting.set(next, others);
    this.#start(next);
    first?.();
  }

  #canStart(key: string): boolean {
    const running = this.running(key);
    return this.#free > (running === 0 ? 0 : this.#reserved) && running < this.#permitsPerKey;
  }

  #start(key: string): void {
    this.#free -= 1;
    this.#running.set(key, this.running(key) + 1);
  }
}
