/** A turnstile: so many are inside at once, the others wait in the order in which they came. */

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

/** Runs `work` for `key`, in turns with the work of other keys. */
export type FairSemaphore = <T>(key: string, work: () => Promise<T>) => Promise<T>;

/** At most `places` run at once, at most `perKey` of one key. The others wait: keys take turns, each key first in, first out. */
export function createFairSemaphore({ places, perKey }: { places: number; perKey: number }): FairSemaphore {
  const scheduler = new FairScheduler(places, perKey);
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
  /** In the order of the keys' turns. None of them may begin now. */
  readonly #waiting = new Map<string, (() => void)[]>();
  readonly #running = new Map<string, number>();
  readonly #perKey: number;
  #free: number;

  constructor(permits: number, perKey: number) {
    this.#free = permits;
    this.#perKey = perKey;
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
    const left = this.#runningOf(key) - 1;
    if (left === 0) this.#running.delete(key);
    else this.#running.set(key, left);
    this.#free += 1;
    const next = this.#waiting.keys().find((waiting) => this.#canStart(waiting));
    if (next !== undefined) this.#startNext(next);
  }

  #startNext(key: string): void {
    const [first, ...others] = this.#waiting.get(key) ?? [];
    // Behind the other keys.
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
    return this.#free > 0 && this.#runningOf(key) < this.#perKey;
  }

  #runningOf(key: string): number {
    return this.#running.get(key) ?? 0;
  }
}
