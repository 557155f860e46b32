/** `waymark endpoint list` */
import { Command } from "commander";
import { systemPrincipal } from "../../../webhooks/api.ts";
import type { CliContext } from "../../context.ts";
import { presentEndpoint, formatEndpointStatus, formatPendingCount } from "../../presenters/endpoint.ts";
import { formatTable } from "../../output.ts";
import { withWebhooks } from "../../with-webhooks.ts";

const COLUMNS = ["ID", "STATUS", "FAILING SINCE", "PENDING", "ORGANISATION", "URL"];

export function endpointListCommand(cli: CliContext): Command {
  return new Command("list")
    .description("list webhook endpoints with their status, oldest first")
    .option("--org <org>", "only endpoints of this organisation (ID or exact name)")
    .action(({ org }: { org?: string }) =>
      withWebhooks(cli, async ({ organizations, endpoints }) => {
        const organizationId = org === undefined ? undefined : (await organizations.get(org)).id;
        const items = await endpoints.list(systemPrincipal, organizationId);
        const rows = items.map((endpoint) => [
          endpoint.id,
          formatEndpointStatus(endpoint),
          endpoint.failingSince ?? "-",
          formatPendingCount(endpoint),
          endpoint.organizationName,
          endpoint.url,
        ]);
        cli.output.printResult(
          { items: items.map(presentEndpoint) },
          rows.length === 0 ? "No webhook endpoints." : formatTable([COLUMNS, ...rows]),
        );
      }),
    );
}
