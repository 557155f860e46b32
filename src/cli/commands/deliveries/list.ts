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

const COLUMNS = ["ID", "MADE", "EVENT", "MARKING NUMBER", "STATUS", "ATTEMPTS", "OUTCOME", "NEXT"];

export function deliveriesListCommand(cli: CliContext): Command {
  return new Command("list")
    .description("list the logged deliveries, newest first")
    .option("--endpoint <endpoint>", "only those of this endpoint (whe_…)")
    .option("--org <org>", "only those of this organisation: its id or exact name")
    .addOption(new Option("--status <status>", "only those that stand so").choices(deliveryStatuses))
    .option("--limit <count>", "how many, up to 200", parsePositiveInteger, 20)
    .option("--cursor <cursor>", "go on where a page before ended")
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
        const more = nextCursor === null ? "" : `\nThere are more: --cursor ${nextCursor}`;
        cli.output.printResult(
          {
            items: listed.map(({ delivery, endpoint }) => ({
              ...presentDelivery(delivery),
              endpoint_blocked_until: isBlocked(delivery, endpoint) ? endpoint.blockedUntil : null,
            })),
            next_cursor: nextCursor,
          },
          items.length === 0
            ? "There is no such delivery."
            : formatTable([COLUMNS, ...listed.map(formatRow)]) + more,
        );
      }),
    );
}

interface ListedDelivery {
  readonly delivery: DeliveryView;
  /** Undefined: deleted. */
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

/** True if the delivery's next attempt waits for its endpoint and not for its schedule. */
function isBlocked(delivery: DeliveryView, endpoint: EndpointView | undefined): endpoint is EndpointView {
  if (delivery.status !== "pending" || delivery.isInFlight || endpoint?.status !== "active") return false;
  const until = endpoint.blockedUntil ?? "";
  const hasExpired = !endpoint.isCircuitOpen && until < new Date().toISOString();
  return !hasExpired && until > (delivery.nextAttemptAt ?? "");
}

function formatNextAttempt({ delivery, endpoint }: ListedDelivery): string {
  if (!isBlocked(delivery, endpoint)) return delivery.nextAttemptAt ?? "-";
  return `waits ${endpoint.isCircuitOpen ? "for the probe at" : "until"} ${endpoint.blockedUntil}`;
}

function formatRow(listed: ListedDelivery): string[] {
  const { delivery } = listed;
  return [
    delivery.id,
    delivery.createdAt,
    delivery.origin === "event" ? delivery.eventType : `${delivery.eventType} (${delivery.origin})`,
    delivery.markingNumber ?? "-",
    delivery.isInFlight ? "being sent" : delivery.status,
    String(delivery.attempts),
    delivery.outcome ?? "-",
    formatNextAttempt(listed),
  ];
}
