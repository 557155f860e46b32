/** `waymark endpoint test` */
import { Command } from "commander";
import { operator } from "../webhooks/caller.ts";
import type { Cli } from "./cli.ts";
import { deliveryDocument, linesOfDelivery } from "./delivery-document.ts";
import { ENDPOINT_ARGUMENT } from "./endpoint-document.ts";
import { withWebhooks } from "./with-webhooks.ts";

export function endpointTest(cli: Cli): Command {
  return new Command("test")
    .description(
      "send a test event at once and show the answer, paused or not (exit code 1: it was not taken)",
    )
    .argument("<endpoint>", ENDPOINT_ARGUMENT)
    .action((id: string) =>
      withWebhooks(cli, async ({ deliveries }) => {
        const found = await deliveries.sendTest(operator, id);
        cli.exitCode = found.delivery.status === "delivered" ? 0 : 1;
        cli.output.result(deliveryDocument(found), linesOfDelivery(found));
      }),
    );
}
