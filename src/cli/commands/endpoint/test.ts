/** `waymark endpoint test` */
import { Command } from "commander";
import { systemPrincipal } from "../../../webhooks/api.ts";
import type { CliContext } from "../../context.ts";
import { presentDeliveryWithAttempts, formatDelivery } from "../../presenters/delivery.ts";
import { ENDPOINT_ARGUMENT_HELP } from "../../presenters/endpoint.ts";
import { withWebhooks } from "../../with-webhooks.ts";

export function endpointTestCommand(cli: CliContext): Command {
  return new Command("test")
    .description(
      "send a test event now, even to a paused endpoint, and show the response (exit code 1 if delivery fails)",
    )
    .argument("<endpoint>", ENDPOINT_ARGUMENT_HELP)
    .action((id: string) =>
      withWebhooks(cli, async ({ deliveries }) => {
        const testDelivery = await deliveries.sendTest(systemPrincipal, id);
        cli.exitCode = testDelivery.delivery.status === "delivered" ? 0 : 1;
        cli.output.printResult(presentDeliveryWithAttempts(testDelivery), formatDelivery(testDelivery));
      }),
    );
}
