/** Runs a command's work with the services open, and lets go of them however it ends. */
import type { Cli } from "./cli.ts";
import { untilInterrupted } from "./interruption.ts";

/** Left to itself a signal would end us at once, and an embedded PostgreSQL that we started would stay behind. */
export const withServices: Cli["withServices"] = (work, options) =>
  untilInterrupted(async (signal) => {
    // Loaded only here, so that help and wrong use are answered at once.
    const { openServices } = await import("./open-services.ts");
    await using services = await openServices(options);
    signal.throwIfAborted();
    await work(services, signal);
  });
