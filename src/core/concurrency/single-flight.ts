/** Shares one asynchronous call among concurrent callers, and caches its result for a while. */

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
