/** `waymark deliveries list` */
import { Command, Option } from "commander";
import { fromTypedId } from "../platform/ids.ts";
import { operator } from "../webhooks/caller.ts";
import { deliveryStatuses, type DeliveryStatus, type DeliveryView } from "../webhooks/delivery.view.ts";
import type { EndpointView } from "../webhooks/endpoint.view.ts";
import type { Webhooks } from "../webhooks/webhooks.service.ts";
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
    .description("list the logged deliveries, newest first")
    .option("--endpoint <endpoint>", "only those of this endpoint (whe_…)")
    .option("--org <org>", "only those of this organisation: its id or exact name")
    .addOption(new Option("--status <status>", "only those that stand so").choices(deliveryStatuses))
    .option("--limit <count>", "how many, up to 200", countValue, 20)
    .option("--cursor <cursor>", "go on where a page before ended")
    .action(({ endpoint: endpointId, org, status, limit, cursor }: Options) =>
      withWebhooks(cli, async ({ organizations, deliveries, endpoints }) => {
        const organizationId = org === undefined ? undefined : (await organizations.get(org)).id;
        const filter = { endpointId, organizationId, status };
        const { items, nextCursor } = await deliveries.list(operator, { filter, limit, cursor });
        const endpointOf = await endpointsOf(endpoints, items);
        const shown = items.map((item) => ({ item, endpoint: endpointOf.get(item.endpointId) }));
        const more = nextCursor === null ? "" : `\nThere are more: --cursor ${nextCursor}`;
        cli.output.result(
          {
            items: shown.map(({ item, endpoint }) => ({
              ...deliverySummary(item),
              endpoint_blocked_until: isBlocked(item, endpoint) ? endpoint.blockedUntil : null,
            })),
            next_cursor: nextCursor,
          },
          items.length === 0 ? "There is no such delivery." : tableOf([HEAD, ...shown.map(rowOf)]) + more,
        );
      }),
    );
}

interface Shown {
  readonly item: DeliveryView;
  /** Undefined: deleted. */
  readonly endpoint: EndpointView | undefined;
}

async function endpointsOf(
  endpoints: Webhooks["endpoints"],
  items: readonly DeliveryView[],
): Promise<ReadonlyMap<string, EndpointView>> {
  const uuids = new Set(items.map(({ endpointId }) => fromTypedId("whe", endpointId) as string));
  const views = await endpoints.byIds(operator, [...uuids]);
  return new Map(views.map((view) => [view.id, view]));
}

/** True if the delivery's next attempt waits for its endpoint and not for its schedule. */
function isBlocked(item: DeliveryView, endpoint: EndpointView | undefined): endpoint is EndpointView {
  if (item.status !== "pending" || item.isBeingSent || endpoint?.status !== "active") return false;
  const until = endpoint.blockedUntil ?? "";
  const isOver = !endpoint.isCircuitOpen && until < new Date().toISOString();
  return !isOver && until > (item.nextAttemptAt ?? "");
}

function nextOf({ item, endpoint }: Shown): string {
  if (!isBlocked(item, endpoint)) return item.nextAttemptAt ?? "-";
  return `waits ${endpoint.isCircuitOpen ? "for the probe at" : "until"} ${endpoint.blockedUntil}`;
}

function rowOf(shown: Shown): string[] {
  const { item: delivery } = shown;
  return [
    delivery.id,
    delivery.createdAt,
    delivery.origin === "event" ? delivery.eventType : `${delivery.eventType} (${delivery.origin})`,
    delivery.markingNumber ?? "-",
    delivery.isBeingSent ? "being sent" : delivery.status,
    String(delivery.attempts),
    delivery.outcome ?? "-",
    nextOf(shown),
  ];
}
