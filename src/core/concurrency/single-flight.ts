/** Shares an asynchronous call among concurrent callers, and can cache its result for a while. */

/**
 * Returns a function that calls `load` at most once at a time, and caches its result for `ttlMs`. All waiting callers share an error,
 * which is not cached.
 */
export function singleFlight<T>(load: () => Promise<T>, ttlMs = 0): () => Promise<T> {
  let cached: { result: T; expiresAtMs: number } | null = null;
  const refresh = singleFlightByKey(async () => {
    const result = await load();
    cached = { result, expiresAtMs: performance.now() + ttlMs };
    return result;
  });
  return () =>
    cached && performance.now() < cached.expiresAtMs ? Promise.resolve(cached.result) : refresh(null);
}

/** Returns a function that calls `load` at most once at a time for each key. Nothing is cached. */
export function singleFlightByKey<Key, T>(load: (key: Key) => Promise<T>): (key: Key) => Promise<T> {
  const inFlight = new Map<Key, Promise<T>>();
  return (key) => {
    const current = inFlight.get(key);
    if (current) return current;
    const loading = load(key).finally(() => inFlight.delete(key));
    inFlight.set(key, loading);
    return loading;
  };
}
