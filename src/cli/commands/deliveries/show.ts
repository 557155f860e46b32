/** `waymark deliveries show` */
import { Command } from "commander";
import { systemPrincipal } from "../../../webhooks/api.ts";
import type { CliContext } from "../../context.ts";
import { presentDeliveryWithAttempts, formatDelivery } from "../../presenters/delivery.ts";
import { withWebhooks } from "../../with-webhooks.ts";

export function deliveriesShowCommand(cli: CliContext): Command {
  return new Command("show")
    .description("show a delivery and its attempts, with requests and responses")
    .argument("<delivery>", "delivery ID (dlv_…)")
    .action((id: string) =>
      withWebhooks(cli, async ({ deliveries }) => {
        const delivery = await deliveries.get(systemPrincipal, id);
        cli.output.printResult(presentDeliveryWithAttempts(delivery), formatDelivery(delivery));
      }),
    );
}
