/** Runs a command's work with the services open, and lets go of them however it ends. */
import type { CliContext } from "./context.ts";
import { withSignals } from "./signals.ts";

/** Left to itself a signal would end us at once, and an embedded PostgreSQL that we started would stay behind. */
export const withServices: CliContext["withServices"] = (work, options) =>
  withSignals(async (signal) => {
    // Loaded only here, so that help and wrong use are answered at once.
    const { createCliServices } = await import("./services.ts");
    await using services = await createCliServices(options);
    signal.throwIfAborted();
    await work(services, signal);
  });
