/** Stops waiting for work after a time limit or at an abort. The work itself continues, and its error is ignored then. */

/** Returns the result of `work`, or undefined if it takes longer than `timeoutMs`. */
export async function withTimeout<T>(work: Promise<T>, timeoutMs: number): Promise<T | undefined> {
  const timeout = new AbortController();
  // One event loop turn later, in case this process was too busy to read the result.
  const timer = setTimeout(() => setImmediate(() => timeout.abort()), timeoutMs);
  try {
    return await untilAborted(work, timeout.signal);
  } finally {
    clearTimeout(timer);
  }
}

/** Returns the result of `work`, or undefined once `signal` is aborted. */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  const { promise: aborted, resolve } = Promise.withResolvers<undefined>();
  const abort = (): void => resolve(undefined);
  signal.addEventListener("abort", abort);
  if (signal.aborted) abort();
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
