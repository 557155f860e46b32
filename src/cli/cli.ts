/** What every command is given. */
import type { OpenOptions, Services } from "./open-services.ts";
import type { Output } from "./output.ts";

export interface Cli {
  readonly output: Output;
  /** For a command that did its work and still has to tell of a failure: some rows of an import, say. */
  exitCode: 0 | 1;
  /** Opens the services for `work`. Its signal aborts at the first SIGINT or SIGTERM; the second ends the process. */
  withServices(
    work: (services: Services, signal: AbortSignal) => Promise<void>,
    options?: OpenOptions,
  ): Promise<void>;
}
