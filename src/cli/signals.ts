/** Turns termination signals into an AbortSignal. */

const TERMINATION_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Runs `work`. Its signal aborts at the first SIGINT, SIGTERM or SIGHUP; a second one kills the process. */
export async function withSignals(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const controller = new AbortController();
  const onSignal = (): void => controller.abort();
  for (const signal of TERMINATION_SIGNALS) process.once(signal, onSignal);
  try {
    await work(controller.signal);
  } finally {
    for (const signal of TERMINATION_SIGNALS) process.off(signal, onSignal);
  }
}

/** Resolves once `signal` has aborted. */
export async function waitForAbort(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
}
