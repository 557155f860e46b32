/** What every command is given. */
import { type AuditContext, NO_SOURCE } from "../audit/api.ts";
import { systemActor } from "../platform/principal.ts";
import type { CliServicesOptions, CliServices } from "./services.ts";
import type { Output } from "./output.ts";

/** Who acts by a command, for the audit log: whoever may use the command line runs the service. */
export const cliAuditContext: AuditContext = { actor: systemActor, ...NO_SOURCE };

export interface CliContext {
  readonly output: Output;
  /** For a command that did its work and still has to tell of a failure: some rows of an import, say. */
  exitCode: 0 | 1;
  /** Opens the services for `work`. Its signal aborts at the first SIGINT or SIGTERM; the second ends the process. */
  withServices(
    work: (services: CliServices, signal: AbortSignal) => Promise<void>,
    options?: CliServicesOptions,
  ): Promise<void>;
}
