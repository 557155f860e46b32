/** What every command receives. */
import { type AuditContext, NO_SOURCE } from "../audit/api.ts";
import { systemActor } from "../platform/principal.ts";
import type { CliServicesOptions, CliServices } from "./services.ts";
import type { Output } from "./output.ts";

/** The audit context of every command: the actor is "system", because only someone who runs the service can use the CLI. */
export const cliAuditContext: AuditContext = { actor: systemActor, ...NO_SOURCE };

export interface CliContext {
  readonly output: Output;
  /** Exit code of a command that completes; 1 reports a partial failure, for example failed rows of an import. */
  exitCode: 0 | 1;
  /** Opens the services for `work`. Its signal aborts at the first SIGINT or SIGTERM; the second ends the process. */
  withServices(
    work: (services: CliServices, signal: AbortSignal) => Promise<void>,
    options?: CliServicesOptions,
  ): Promise<void>;
}
