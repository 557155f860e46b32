/** `waymark deliveries list` */
import { Command, Option } from "commander";
import { fromTypedId } from "../../../platform/ids.ts";
import {
  type DeliveryStatus,
  deliveryStatuses,
  type DeliveryView,
  type EndpointView,
  systemPrincipal,
  type Webhooks,
} from "../../../webhooks/api.ts";
import type { CliContext } from "../../context.ts";
import { presentDelivery } from "../../presenters/delivery.ts";
import { formatTable } from "../../output.ts";
import { parsePositiveInteger } from "../../option-parsers.ts";
import { withWebhooks } from "../../with-webhooks.ts";

interface Options {
  endpoint?: string;
  org?: string;
  status?: DeliveryStatus;
  limit: number;
  cursor?: string;
}

const COLUMNS = ["ID", "CREATED", "EVENT", "MARKING NUMBER", "STATUS", "ATTEMPTS", "OUTCOME", "NEXT"];

export function deliveriesListCommand(cli: CliContext): Command {
  return new Command("list")
    .description("list deliveries, newest first")
    .option("--endpoint <endpoint>", "only deliveries to this endpoint (whe_…)")
    .option("--org <org>", "only deliveries of this organisation (ID or exact name)")
    .addOption(new Option("--status <status>", "only deliveries with this status").choices(deliveryStatuses))
    .option("--limit <count>", "maximum number of rows, up to 200", parsePositiveInteger, 20)
    .option("--cursor <cursor>", "cursor of the next page, as printed by the previous one")
    .action(({ endpoint: endpointId, org, status, limit, cursor }: Options) =>
      withWebhooks(cli, async ({ organizations, deliveries, endpoints }) => {
        const organizationId = org === undefined ? undefined : (await organizations.get(org)).id;
        const filter = { endpointId, organizationId, status };
        const { items, nextCursor } = await deliveries.list(systemPrincipal, { filter, limit, cursor });
        const endpointById = await loadEndpoints(endpoints, items);
        const listed = items.map((delivery) => ({
          delivery,
          endpoint: endpointById.get(delivery.endpointId),
        }));
        const more = nextCursor === null ? "" : `\nNext page: --cursor ${nextCursor}`;
        cli.output.printResult(
          {
            items: listed.map(({ delivery, endpoint }) => ({
              ...presentDelivery(delivery),
              endpoint_blocked_until: isBlocked(delivery, endpoint) ? endpoint.blockedUntil : null,
            })),
            next_cursor: nextCursor,
          },
          items.length === 0 ? "No deliveries." : formatTable([COLUMNS, ...listed.map(formatRow)]) + more,
        );
      }),
    );
}

interface ListedDelivery {
  readonly delivery: DeliveryView;
  /** Undefined if the endpoint has been deleted. */
  readonly endpoint: EndpointView | undefined;
}

async function loadEndpoints(
  endpoints: Webhooks["endpoints"],
  items: readonly DeliveryView[],
): Promise<ReadonlyMap<string, EndpointView>> {
  const uuids = new Set(items.map(({ endpointId }) => fromTypedId("whe", endpointId) as string));
  const views = await endpoints.findByIds(systemPrincipal, [...uuids]);
  return new Map(views.map((view) => [view.id, view]));
}

/** True if the endpoint's block, not the retry schedule, determines the next attempt. */
function isBlocked(delivery: DeliveryView, endpoint: EndpointView | undefined): endpoint is EndpointView {
  if (delivery.status !== "pending" || delivery.isInFlight || endpoint?.status !== "active") return false;
  const until = endpoint.blockedUntil ?? "";
  const hasExpired = !endpoint.isCircuitOpen && until < new Date().toISOString();
  return !hasExpired && until > (delivery.nextAttemptAt ?? "");
}

function formatNextAttempt({ delivery, endpoint }: ListedDelivery): string {
  if (!isBlocked(delivery, endpoint)) return delivery.nextAttemptAt ?? "-";
  return `${endpoint.isCircuitOpen ? "after probe at" : "blocked until"} ${endpoint.blockedUntil}`;
}

function formatRow(listed: ListedDelivery): string[] {
  const { delivery } = listed;
  return [
    delivery.id,
    delivery.createdAt,
    delivery.origin === "event" ? delivery.eventType : `${delivery.eventType} (${delivery.origin})`,
    delivery.markingNumber ?? "-",
    delivery.isInFlight ? "in flight" : delivery.status,
    String(delivery.attempts),
    delivery.outcome ?? "-",
    formatNextAttempt(listed),
  ];
}
