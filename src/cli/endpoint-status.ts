/** `waymark endpoint pause`, `resume` and `delete` */
import { Command } from "commander";
import { operator } from "../webhooks/caller.ts";
import type { Held } from "../webhooks/endpoint.status.ts";
import type { Cli } from "./cli.ts";
import { ENDPOINT_ARGUMENT, endpointDocument, stateOf, waitingOf } from "./endpoint-document.ts";
import { printable } from "./output.ts";
import { heldValue } from "./values.ts";
import { withWebhooks } from "./with-webhooks.ts";

export function endpointPause(cli: Cli): Command {
  return new Command("pause")
    .description("send nothing to an endpoint; its events wait until the retention time ends")
    .argument("<endpoint>", ENDPOINT_ARGUMENT)
    .action((id: string) =>
      withWebhooks(cli, async ({ endpoints }) => {
        const endpoint = await endpoints.pause(operator, id);
        cli.output.result(endpointDocument(endpoint), `${printable(endpoint.url)} is ${stateOf(endpoint)}.`);
      }),
    );
}

export function endpointResume(cli: Cli): Command {
  return new Command("resume")
    .description("send to a paused or disabled endpoint again")
    .argument("<endpoint>", ENDPOINT_ARGUMENT)
    .option(
      "--held <what>",
      "what waited: send, discard, or since:<when>, the rest discarded",
      heldValue,
      "send",
    )
    .action((id: string, { held }: { held: Held }) =>
      withWebhooks(cli, async ({ endpoints }) => {
        const { endpoint, discarded } = await endpoints.resume(operator, id, { held });
        cli.output.result(
          { ...endpointDocument(endpoint), discarded },
          `${printable(endpoint.url)} is ${stateOf(endpoint)}: ${waitingOf(endpoint)} to send, ${discarded.toLocaleString("en")} discarded.`,
        );
      }),
    );
}

export function endpointDelete(cli: Cli): Command {
  return new Command("delete")
    .description("end an endpoint for good: what waits is discarded, its log stays")
    .argument("<endpoint>", ENDPOINT_ARGUMENT)
    .action((id: string) =>
      withWebhooks(cli, async ({ endpoints }) => {
        const { url } = await endpoints.get(operator, id);
        const { discarded } = await endpoints.delete(operator, id);
        cli.output.result(
          { id, url, discarded },
          `${printable(url)} is deleted, ${discarded.toLocaleString("en")} deliveries discarded.`,
        );
      }),
    );
}
