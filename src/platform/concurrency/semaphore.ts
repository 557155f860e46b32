/** Semaphores that run asynchronous work with a limited number of permits. */

/** Runs `work` once a permit is free, and returns its result. Waiting work runs first in, first out. */
export type Semaphore = <T>(work: () => Promise<T>) => Promise<T>;

export function createSemaphore(permits: number): Semaphore {
  const queue: (() => void)[] = [];
  let free = permits;
  return async (work) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => queue.push(resolve));
    try {
      return await work();
    } finally {
      const next = queue.shift();
      if (next) next();
      else free += 1;
    }
  };
}

/** Runs `work` for `key` once a permit is free, and returns its result. */
export type FairSemaphore = <T>(key: string, work: () => Promise<T>) => Promise<T>;

/** Limits concurrent work to `permits` in total and `permitsPerKey` for one key. Waiting keys alternate; each key is first in, first out. */
export function createFairSemaphore({
  permits,
  permitsPerKey,
}: {
  permits: number;
  permitsPerKey: number;
}): FairSemaphore {
  const scheduler = new FairScheduler(permits, permitsPerKey);
  return async (key, work) => {
    await scheduler.acquire(key);
    try {
      return await work();
    } finally {
      scheduler.release(key);
    }
  };
}

class FairScheduler {
  /** Waiting work by key; the first key that may start is next. */
  readonly #waiting = new Map<string, (() => void)[]>();
  readonly #running = new Map<string, number>();
  readonly #permitsPerKey: number;
  #free: number;

  constructor(permits: number, permitsPerKey: number) {
    this.#free = permits;
    this.#permitsPerKey = permitsPerKey;
  }

  acquire(key: string): Promise<void> | void {
    if (this.#canStart(key)) return this.#start(key);
    const { promise, resolve } = Promise.withResolvers<void>();
    const queue = this.#waiting.get(key);
    if (queue) queue.push(resolve);
    else this.#waiting.set(key, [resolve]);
    return promise;
  }

  release(key: string): void {
    const remaining = this.#runningOf(key) - 1;
    if (remaining === 0) this.#running.delete(key);
    else this.#running.set(key, remaining);
    this.#free += 1;
    const next = this.#waiting.keys().find((waitingKey) => this.#canStart(waitingKey));
    if (next !== undefined) this.#startNext(next);
  }

  #startNext(key: string): void {
    const [first, ...others] = this.#waiting.get(key) ?? [];
    // Re-inserting moves the key behind the others.
    this.#waiting.delete(key);
    if (others.length > 0) this.#waiting.set(key, others);
    this.#start(key);
    first?.();
  }

  #start(key: string): void {
    this.#free -= 1;
    this.#running.set(key, this.#runningOf(key) + 1);
  }

  #canStart(key: string): boolean {
    return this.#free > 0 && this.#runningOf(key) < this.#permitsPerKey;
  }

  #runningOf(key: string): number {
    return this.#running.get(key) ?? 0;
  }
}
