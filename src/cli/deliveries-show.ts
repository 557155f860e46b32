/** `waymark deliveries show` */
import { Command } from "commander";
import { operator } from "../webhooks/caller.ts";
import type { Cli } from "./cli.ts";
import { deliveryDocument, linesOfDelivery } from "./delivery-document.ts";
import { withWebhooks } from "./with-webhooks.ts";

export function deliveriesShow(cli: Cli): Command {
  return new Command("show")
    .description("show a delivery with its attempts: what was sent, and what came back")
    .argument("<delivery>", "its id (dlv_…)")
    .action((id: string) =>
      withWebhooks(cli, async ({ deliveries }) => {
        const found = await deliveries.get(operator, id);
        cli.output.result(deliveryDocument(found), linesOfDelivery(found));
      }),
    );
}
