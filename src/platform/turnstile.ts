/** A turnstile: so many are inside at once, the others wait in the order in which they came. */

export type Turnstile = <T>(work: () => Promise<T>) => Promise<T>;

export function createTurnstile(places: number): Turnstile {
  const waiting: (() => void)[] = [];
  let free = places;
  return async (work) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free += 1;
    }
  };
}

/** Runs `work` for `key`, in turns with the work of other keys. */
export type FairTurnstile = <T>(key: string, work: () => Promise<T>) => Promise<T>;

/** At most `places` run at once, at most `perKey` of one key. The others wait: keys take turns, each key first in, first out. */
export function createFairTurnstile({ places, perKey }: { places: number; perKey: number }): FairTurnstile {
  const turns = new FairTurns(places, perKey);
  return async (key, work) => {
    await turns.begin(key);
    try {
      return await work();
    } finally {
      turns.end(key);
    }
  };
}

class FairTurns {
  /** In the order of the keys' turns. None of them may begin now. */
  readonly #waiting = new Map<string, (() => void)[]>();
  readonly #running = new Map<string, number>();
  readonly #perKey: number;
  #free: number;

  constructor(places: number, perKey: number) {
    this.#free = places;
    this.#perKey = perKey;
  }

  begin(key: string): Promise<void> | void {
    if (this.#mayBegin(key)) return this.#take(key);
    const { promise, resolve } = Promise.withResolvers<void>();
    const queue = this.#waiting.get(key);
    if (queue) queue.push(resolve);
    else this.#waiting.set(key, [resolve]);
    return promise;
  }

  end(key: string): void {
    const left = this.#runningOf(key) - 1;
    if (left === 0) this.#running.delete(key);
    else this.#running.set(key, left);
    this.#free += 1;
    const next = this.#waiting.keys().find((waiting) => this.#mayBegin(waiting));
    if (next !== undefined) this.#admit(next);
  }

  #admit(key: string): void {
    const [first, ...others] = this.#waiting.get(key) ?? [];
    // Behind the other keys.
    this.#waiting.delete(key);
    if (others.length > 0) this.#waiting.set(key, others);
    this.#take(key);
    first?.();
  }

  #take(key: string): void {
    this.#free -= 1;
    this.#running.set(key, this.#runningOf(key) + 1);
  }

  #mayBegin(key: string): boolean {
    return this.#free > 0 && this.#runningOf(key) < this.#perKey;
  }

  #runningOf(key: string): number {
    return this.#running.get(key) ?? 0;
  }
}
