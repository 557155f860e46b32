/** Opens the services for a command, and closes them when it ends or fails. */
import type { CliContext } from "./context.ts";
import { withSignals } from "./signals.ts";

/** Handles signals, because an immediate exit would leave an embedded PostgreSQL that this process started running. */
export const withServices: CliContext["withServices"] = (work, options) =>
  withSignals(async (signal) => {
    // Imported here so that help and usage errors need not load the services.
    const { createCliServices } = await import("./services.ts");
    await using services = await createCliServices(options);
    signal.throwIfAborted();
    await work(services, signal);
  });
