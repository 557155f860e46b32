/** What commands share: the output, the services and the signals that interrupt a command. */
import type { Readable, Writable } from "node:stream";
import { type AuditContext, NO_SOURCE } from "../audit/api.ts";
import type { CliServices, CliServicesOptions } from "../app/cli-services.ts";
import { systemActor } from "../core/principal.ts";
import type { Webhooks } from "../webhooks/api.ts";
import type { Output } from "./output.ts";

export type { CliServices };
export type WebhookServices = CliServices & Pick<Webhooks, "endpoints" | "deliveries">;

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

/** `signal` aborts at the first SIGINT, SIGTERM or SIGHUP; a second one kills the process. */
type Work<Services, Value> = (services: Services, signal: AbortSignal) => Promise<Value>;

/**
 * Opens the services for `work`. Handles signals, because an immediate exit would leave an embedded PostgreSQL that this
 * process started running.
 */
export function withServices<Value>(
  cli: CliContext,
  work: Work<CliServices, Value>,
  startupCheck?: CliServicesOptions["startupCheck"],
): Promise<Value> {
  return withSignals(cli, async (signal) => {
    // Imported here so that help and usage errors need not load the services.
    const { openCliServices } = await import("../app/cli-services.ts");
    const { printStatus } = cli.output;
    await using services = await openCliServices({ env: cli.host.env, printStatus, startupCheck });
    signal.throwIfAborted();
    return await work(services, signal);
  });
}

/** Like `withServices`, with webhook endpoints and deliveries. */
export function withWebhooks<Value>(cli: CliContext, work: Work<WebhookServices, Value>): Promise<Value> {
  return withServices(cli, async (services, signal) => {
    await using webhooks = await services.openWebhooks();
    const { endpoints, deliveries } = webhooks;
    return await work({ ...services, endpoints, deliveries }, signal);
  });
}

const TERMINATION_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

async function withSignals<Value>(
  { host }: CliContext,
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const controller = new AbortController();
  const onSignal = (): void => controller.abort();
  for (const signal of TERMINATION_SIGNALS) host.once(signal, onSignal);
  try {
    return await work(controller.signal);
  } finally {
    for (const signal of TERMINATION_SIGNALS) host.off(signal, onSignal);
  }
}
