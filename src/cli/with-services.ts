/** Runs a command's work with the services open, and lets go of them however it ends. */
import type { Cli } from "./cli.ts";

const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export const withServices: Cli["withServices"] = async (work) => {
  // Left to itself a signal would end us at once, and an embedded PostgreSQL that we started would stay behind.
  const interruption = new AbortController();
  const interrupt = (): void => interruption.abort();
  for (const signal of signals) process.once(signal, interrupt);
  try {
    // Loaded only here, so that help and wrong use are answered at once.
    const { openServices } = await import("./open-services.ts");
    await using services = await openServices();
    interruption.signal.throwIfAborted();
    await work(services, interruption.signal);
  } finally {
    for (const signal of signals) process.off(signal, interrupt);
  }
};
