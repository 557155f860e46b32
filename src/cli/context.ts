/** What commands share: the process, the output, the services and the signal that interrupts a command. */
import type { Readable, Writable } from "node:stream";
import { type AuditContext, NO_SOURCE } from "../audit/api.ts";
import type { CliServices, CliServicesOptions } from "../app/cli-services.ts";
import { systemActor } from "../core/principal.ts";
import type { Webhooks } from "../webhooks/api.ts";
import type { Output } from "./output.ts";

/** The audit context of every command: the actor is "system", because only someone who runs the service can use the CLI. */
export const cliAuditContext: AuditContext = { actor: systemActor, ...NO_SOURCE };

/** The part of `process` that commands use. */
export interface CliProcess {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable & { readonly isTTY?: boolean };
  readonly env: Readonly<Record<string, string | undefined>>;
  once(signal: NodeJS.Signals, listener: () => void): unknown;
  off(signal: NodeJS.Signals, listener: () => void): unknown;
}

export interface CliContext {
  readonly host: CliProcess;
  readonly output: Output;
  /** Exit code of a command that completes. */
  exitCode: 0 | 1;
}

export type ServiceContext = CliContext &
  Omit<CliServices, typeof Symbol.asyncDispose> & {
    /** Aborts at the first SIGINT, SIGTERM or SIGHUP; a second one kills the process. */
    readonly signal: AbortSignal;
  };
export type WebhookContext = ServiceContext & Pick<Webhooks, "endpoints" | "deliveries">;

const TERMINATION_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Opens the services for `work`. Handles signals, because an immediate exit would leave an embedded PostgreSQL that this
 * process started running.
 */
export async function withServices(
  cli: CliContext,
  work: (context: ServiceContext) => Promise<void>,
  startupCheck?: CliServicesOptions["startupCheck"],
): Promise<void> {
  const { host, output } = cli;
  const controller = new AbortController();
  const { signal } = controller;
  const onSignal = (): void => controller.abort();
  for (const name of TERMINATION_SIGNALS) host.once(name, onSignal);
  try {
    // Imported here so that help and usage errors need not load the services.
    const { openCliServices } = await import("../app/cli-services.ts");
    const { printStatus } = output;
    await using services = await openCliServices({ env: host.env, printStatus, startupCheck });
    signal.throwIfAborted();
    await work({ ...cli, ...services, signal });
  } finally {
    for (const name of TERMINATION_SIGNALS) host.off(name, onSignal);
  }
}
