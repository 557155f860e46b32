/** What commands share: the output, the services and the signals that interrupt a command. */
import { type AuditContext, NO_SOURCE } from "../audit/api.ts";
import type { CliServices, CliServicesOptions } from "../app/cli-services.ts";
import { systemActor } from "../platform/principal.ts";
import type { Webhooks } from "../webhooks/api.ts";
import type { Output } from "./output.ts";

export type { CliServices };
export type WebhookServices = CliServices & Pick<Webhooks, "endpoints" | "deliveries">;

/** The audit context of every command: the actor is "system", because only someone who runs the service can use the CLI. */
export const cliAuditContext: AuditContext = { actor: systemActor, ...NO_SOURCE };

export interface CliContext {
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
  work: Work<CliServices, Value>,
  options?: CliServicesOptions,
): Promise<Value> {
  return withSignals(async (signal) => {
    // Imported here so that help and usage errors need not load the services.
    const { openCliServices } = await import("../app/cli-services.ts");
    await using services = await openCliServices(options);
    signal.throwIfAborted();
    return await work(services, signal);
  });
}

/** Like `withServices`, with webhook endpoints and deliveries. */
export function withWebhooks<Value>(work: Work<WebhookServices, Value>): Promise<Value> {
  return withServices(async (services, signal) => {
    await using webhooks = await services.openWebhooks();
    const { endpoints, deliveries } = webhooks;
    return await work({ ...services, endpoints, deliveries }, signal);
  });
}

const TERMINATION_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export async function withSignals<Value>(work: (signal: AbortSignal) => Promise<Value>): Promise<Value> {
  const controller = new AbortController();
  const onSignal = (): void => controller.abort();
  for (const signal of TERMINATION_SIGNALS) process.once(signal, onSignal);
  try {
    return await work(controller.signal);
  } finally {
    for (const signal of TERMINATION_SIGNALS) process.off(signal, onSignal);
  }
}
