/** Shares an asynchronous call among concurrent callers, and can cache its result for a while. */

export interface SingleFlightOptions {
  /** How long a result is cached. With 0, only callers that arrive while the call is in flight share it. */
  ttlMs: number;
  nowMs?: () => number;
}

/** Returns a function that calls `load` at most once at a time. All waiting callers share an error, which is not cached. */
export function singleFlight<T>(
  load: () => Promise<T>,
  { ttlMs, nowMs = () => performance.now() }: SingleFlightOptions,
): () => Promise<T> {
  let inFlight: Promise<T> | null = null;
  let cached: { result: T; expiresAtMs: number } | null = null;

  const refresh = async (): Promise<T> => {
    const result = await load();
    cached = { result, expiresAtMs: nowMs() + ttlMs };
    return result;
  };

  return () => {
    if (cached && nowMs() < cached.expiresAtMs) return Promise.resolve(cached.result);
    return (inFlight ??= refresh().finally(() => {
      inFlight = null;
    }));
  };
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
