/** What every command is given. */
import { NO_ORIGIN, type ActContext } from "../accounts/audit.service.ts";
import { systemActor } from "../platform/principal.ts";
import type { OpenOptions, Services } from "./open-services.ts";
import type { Output } from "./output.ts";

/** Who acts by a command, for the audit log: whoever may use the command line runs the service. */
export const commandLine: ActContext = { actor: systemActor, ...NO_ORIGIN };

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
