/** The signals that end a command, as an AbortSignal. */

const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Runs `work`, whose signal aborts at the first SIGINT, SIGTERM or SIGHUP; the second ends the process. */
export async function untilInterrupted(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const interruption = new AbortController();
  const interrupt = (): void => interruption.abort();
  for (const signal of signals) process.once(signal, interrupt);
  try {
    await work(interruption.signal);
  } finally {
    for (const signal of signals) process.off(signal, interrupt);
  }
}

/** Resolves once `signal` has aborted. */
export async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
}
