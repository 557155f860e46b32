/** Runs a command's work with the services and what concerns webhooks. */
import type { Webhooks } from "../webhooks/webhooks.service.ts";
import type { Cli } from "./cli.ts";
import type { Services } from "./open-services.ts";

export type WebhookWork = (
  services: Services & Pick<Webhooks, "endpoints" | "deliveries">,
  signal: AbortSignal,
) => Promise<void>;

export function withWebhooks(cli: Cli, work: WebhookWork): Promise<void> {
  return cli.withServices(async (services, signal) => {
    await using webhooks = await services.openWebhooks();
    const { endpoints, deliveries } = webhooks;
    await work({ ...services, endpoints, deliveries }, signal);
  });
}
