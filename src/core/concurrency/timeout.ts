/** Stops waiting for work after a time limit or at an abort. The work itself continues, and its error is ignored then. */

/** Returns the result of `work`, or of `onTimeout` (default: undefined) if `work` takes longer than `timeoutMs`. */
export async function withTimeout<T, U = undefined>(
  work: Promise<T>,
  timeoutMs: number,
  onTimeout?: () => U,
): Promise<T | U> {
  const timeout = new AbortController();
  // One event loop turn later, in case this process was too busy to read the result.
  const timer = setTimeout(() => setImmediate(() => timeout.abort()), timeoutMs);
  try {
    return await untilAborted(work, timeout.signal, onTimeout);
  } finally {
    clearTimeout(timer);
  }
}

/** Returns the result of `work`, or of `onAbort` (default: undefined) once `signal` is aborted. */
export async function untilAborted<T, U = undefined>(
  work: Promise<T>,
  signal: AbortSignal,
  onAbort?: () => U,
): Promise<T | U> {
  const { promise: aborted, resolve } = Promise.withResolvers<void>();
  const abort = (): void => resolve();
  signal.addEventListener("abort", abort);
  if (signal.aborted) abort();
  try {
    return await Promise.race([work, aborted.then(onAbort as () => U)]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
