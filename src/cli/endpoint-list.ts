/** `waymark endpoint list` */
import { Command } from "commander";
import { operator } from "../webhooks/caller.ts";
import type { Cli } from "./cli.ts";
import { endpointDocument, stateOf, waitingOf } from "./endpoint-document.ts";
import { tableOf } from "./output.ts";
import { withWebhooks } from "./with-webhooks.ts";

const HEAD = ["ID", "STATE", "FAILING SINCE", "WAITING", "ORGANISATION", "URL"];

export function endpointList(cli: Cli): Command {
  return new Command("list")
    .description("list the webhook endpoints and how they are doing, oldest first")
    .option("--org <org>", "only those of this organisation: its id or exact name")
    .action(({ org }: { org?: string }) =>
      withWebhooks(cli, async ({ organizations, endpoints }) => {
        const organizationId = org === undefined ? undefined : (await organizations.get(org)).id;
        const items = await endpoints.list(operator, organizationId);
        const rows = items.map((endpoint) => [
          endpoint.id,
          stateOf(endpoint),
          endpoint.failingSince ?? "-",
          waitingOf(endpoint),
          endpoint.organizationName,
          endpoint.url,
        ]);
        cli.output.result(
          { items: items.map(endpointDocument) },
          rows.length === 0 ? "There is no webhook endpoint yet." : tableOf([HEAD, ...rows]),
        );
      }),
    );
}
