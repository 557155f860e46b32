/** A semaphore that treats keys fairly. For work without keys, use `p-limit`. */

/** Runs `work` once a permit is free, and returns its result. Waiting work runs first in, first out. */
export type Semaphore = <T>(work: () => Promise<T>) => Promise<T>;

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
  /** Waiting work by key; the first key that may start is next. */
  const waiting = new Map<string, (() => void)[]>();
  const running = new Map<string, number>();
  let free = permits;

  const canStart = (key: string): boolean => free > 0 && (running.get(key) ?? 0) < permitsPerKey;

  const start = (key: string): void => {
    free -= 1;
    running.set(key, (running.get(key) ?? 0) + 1);
  };

  const acquire = (key: string): Promise<void> | void => {
    if (canStart(key)) return start(key);
    const { promise, resolve } = Promise.withResolvers<void>();
    const queue = waiting.get(key);
    if (queue) queue.push(resolve);
    else waiting.set(key, [resolve]);
    return promise;
  };

  const release = (key: string): void => {
    free += 1;
    const remaining = (running.get(key) ?? 1) - 1;
    if (remaining === 0) running.delete(key);
    else running.set(key, remaining);
    const next = waiting.keys().find(canStart);
    if (next === undefined) return;
    const [first, ...others] = waiting.get(next) ?? [];
    // Re-inserting moves the key behind the others.
    waiting.delete(next);
    if (others.length > 0) waiting.set(next, others);
    start(next);
    first?.();
  };

  return async (key, work) => {
    await acquire(key);
    try {
      return await work();
    } finally {
      release(key);
    }
  };
}
