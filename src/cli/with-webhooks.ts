/** Opens the services for a command that uses webhook endpoints and deliveries. */
import type { Webhooks } from "../webhooks/api.ts";
import type { CliContext } from "./context.ts";
import type { CliServices } from "./services.ts";

export type WebhookCommandWork = (
  services: CliServices & Pick<Webhooks, "endpoints" | "deliveries">,
  signal: AbortSignal,
) => Promise<void>;

export function withWebhooks(cli: CliContext, work: WebhookCommandWork): Promise<void> {
  return cli.withServices(async (services, signal) => {
    await using webhooks = await services.openWebhooks();
    const { endpoints, deliveries } = webhooks;
    await work({ ...services, endpoints, deliveries }, signal);
  });
}
