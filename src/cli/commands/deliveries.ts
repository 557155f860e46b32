/** `waymark deliveries` */
import { AppError } from "../../core/errors.ts";
import { fromTypedId } from "../../core/ids.ts";
import {
  type DeliveryDetail,
  deliveryStatuses,
  type ReplaySelection,
  systemPrincipal,
} from "../../webhooks/api.ts";
import { commandGroup, webhookCommand } from "../command.ts";
import type { WebhookContext } from "../context.ts";
import { organizationOptions, parseNumber, parseSince, selectionOf } from "../options.ts";
import { listResult, type Result, toDocument } from "../output.ts";

const REPLAY_HELP_TEXT = `
The receiver gets the same webhook-id with a new timestamp and signature. A server or worker that runs on this database
sends the replays, as fast as the endpoint's limits allow.

  waymark deliveries replay dlv_…
  waymark deliveries replay --endpoint whe_… --failed-since 12h
  waymark deliveries replay --endpoint whe_… --missing`;

export function deliveryResult(delivery: DeliveryDetail): Result {
  return { data: { ...delivery, attempts: delivery.attempts.map(toDocument) } };
}

/** Repeats the replay until no event is left. */
async function replayAll(
  { deliveries, output }: WebhookContext,
  endpoint: string,
  selection: ReplaySelection,
): Promise<number> {
  for (let total = 0; ;) {
    const { replayed, hasMore } = await deliveries.replayMany(systemPrincipal, endpoint, selection);
    total += replayed;
    if (!hasMore) return total;
    output.printStatus(`${total.toLocaleString("en")} events queued so far.`);
  }
}

const COLUMNS = [
  "id",
  "createdAt",
  "eventType",
  "markingNumber",
  "status",
  "attemptCount",
  "outcome",
  "mode",
  "nextAttemptAt",
  "endpointBlockedUntil",
] as const;

export const deliveryCommands = commandGroup("deliveries", "list and replay webhook deliveries", [
  webhookCommand("list", {
    description: "list deliveries, newest first",
    options: {
      endpoint: { value: "<endpoint>", text: "only deliveries to this endpoint (whe_…)" },
      ...organizationOptions("deliveries"),
      status: { value: "<status>", text: "only deliveries with this status", choices: deliveryStatuses },
      limit: { value: "<count>", text: "maximum number of rows, up to 200", parse: parseNumber, default: 20 },
      cursor: { value: "<cursor>", text: "cursor of the next page, as printed by the previous one" },
    },
    async run({ organizations, deliveries, endpoints }, { endpoint, status, limit, cursor, ...options }) {
      // An endpoint has one mode.
      const { org, mode = endpoint === undefined ? "live" : "all" } = options;
      const selection = await selectionOf(organizations, { org, mode });
      const filter = { endpointId: endpoint, status, ...selection };
      const { items, nextCursor } = await deliveries.list(systemPrincipal, { filter, limit, cursor });
      const ids = new Set(items.map(({ endpointId }) => fromTypedId("whe", endpointId) as string));
      const views = await endpoints.findByIds(systemPrincipal, [...ids]);
      const rows = items.map((delivery) => {
        const found = views.find(({ id }) => id === delivery.endpointId);
        const isPending = delivery.status === "pending" && found?.status === "active";
        return {
          ...delivery,
          mode: found?.mode ?? null,
          endpointBlockedUntil: isPending ? found.blockedUntil : null,
        };
      });
      const page = listResult(rows, COLUMNS);
      return {
        ...page,
        data: { ...page.data, nextCursor },
        note: nextCursor === null ? undefined : `Next page: --cursor ${nextCursor}`,
      };
    },
  }),
  webhookCommand("show", {
    description: "show a delivery and its attempts, with requests and responses",
    argument: ["<delivery>", "delivery ID (dlv_…)"],
    run: async ({ deliveries }, _options, id) => deliveryResult(await deliveries.get(systemPrincipal, id)),
  }),
  webhookCommand("replay", {
    description: "send events again: one delivery, or the failed or missing deliveries of an endpoint",
    argument: ["[delivery]", "delivery ID (dlv_…)"],
    options: {
      endpoint: { value: "<endpoint>", text: "endpoint ID (whe_…)" },
      failedSince: {
        value: "<when>",
        text: "replay deliveries that failed since this date, date-time or time ago (12h)",
        parse: parseSince,
        conflicts: ["missing"],
      },
      missing: {
        value: "[since]",
        text: "replay stored events that the endpoint has no delivery for; optionally only those since this time",
        parse: parseSince,
      },
      until: { value: "<when>", text: "with the other two: only before this time", parse: parseSince },
    },
    help: REPLAY_HELP_TEXT,
    async run(context, { endpoint, failedSince, missing, until }, id) {
      const selected = failedSince ?? missing;
      if (id !== undefined && !endpoint && !selected && !until)
        return { data: await context.deliveries.replay(systemPrincipal, id) };
      if (id !== undefined || endpoint === undefined || selected === undefined)
        throw new AppError(
          "BadRequestException",
          "Specify either a delivery ID, or --endpoint with --failed-since or --missing",
        );
      const since = selected === true ? undefined : selected;
      const selection = failedSince
        ? ({ which: "failed", since: failedSince, until } as const)
        : ({ which: "missing", since, until } as const);
      return { data: { endpointId: endpoint, replayed: await replayAll(context, endpoint, selection) } };
    },
  }),
]);
