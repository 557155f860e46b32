/** `waymark deliveries list` */
import { Command, Option } from "commander";
import { operator } from "../webhooks/caller.ts";
import { deliveryStatuses, type DeliveryStatus, type DeliveryView } from "../webhooks/delivery.view.ts";
import type { Cli } from "./cli.ts";
import { deliverySummary } from "./delivery-document.ts";
import { tableOf } from "./output.ts";
import { countValue } from "./values.ts";
import { withWebhooks } from "./with-webhooks.ts";

interface Options {
  endpoint?: string;
  org?: string;
  status?: DeliveryStatus;
  limit: number;
  cursor?: string;
}

const HEAD = ["ID", "MADE", "EVENT", "MARKING NUMBER", "STATUS", "ATTEMPTS", "OUTCOME", "NEXT"];

export function deliveriesList(cli: Cli): Command {
  return new Command("list")
    .description("list the deliveries of the last 30 days, newest first")
    .option("--endpoint <endpoint>", "only those of this endpoint (whe_…)")
    .option("--org <org>", "only those of this organisation: its id or exact name")
    .addOption(new Option("--status <status>", "only those that stand so").choices(deliveryStatuses))
    .option("--limit <count>", "how many, up to 200", countValue, 20)
    .option("--cursor <cursor>", "go on where a page before ended")
    .action(({ endpoint, org, status, limit, cursor }: Options) =>
      withWebhooks(cli, async ({ organizations, deliveries }) => {
        const organizationId = org === undefined ? undefined : (await organizations.get(org)).id;
        const filter = { endpointId: endpoint, organizationId, status };
        const { items, nextCursor } = await deliveries.list(operator, { filter, limit, cursor });
        const more = nextCursor === null ? "" : `\nThere are more: --cursor ${nextCursor}`;
        cli.output.result(
          { items: items.map(deliverySummary), next_cursor: nextCursor },
          items.length === 0 ? "There is no such delivery." : tableOf([HEAD, ...items.map(rowOf)]) + more,
        );
      }),
    );
}

function rowOf(delivery: DeliveryView): string[] {
  return [
    delivery.id,
    delivery.createdAt,
    delivery.origin === "event" ? delivery.eventType : `${delivery.eventType} (${delivery.origin})`,
    delivery.markingNumber ?? "-",
    delivery.isBeingSent ? "being sent" : delivery.status,
    String(delivery.attempts),
    delivery.outcome ?? "-",
    delivery.nextAttemptAt ?? "-",
  ];
}
