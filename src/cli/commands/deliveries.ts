/** `waymark deliveries` */
import { AppError } from "../../core/errors.ts";
import { fromTypedId } from "../../core/ids.ts";
import {
  type AttemptView,
  type DeliveryService,
  deliveryStatuses,
  type DeliveryView,
  type DeliveryDetail,
  type EndpointView,
  type ReplaySelection,
  systemPrincipal,
  type Webhooks,
} from "../../webhooks/api.ts";
import { choice, commandGroup, option, webhookCommand, withDefault, type Result } from "../command.ts";
import { organizationOptions, selectionOf } from "../organization-options.ts";
import { parsePositiveInteger, parseSince } from "../option-parsers.ts";
import { escapeControlCharacters, formatList, listResult, toDocument, type ListFormat } from "../output.ts";

const list = webhookCommand("list", {
  description: "list deliveries, newest first",
  options: {
    endpoint: option("<endpoint>", "only deliveries to this endpoint (whe_…)"),
    ...organizationOptions("deliveries"),
    status: choice("<status>", "only deliveries with this status", deliveryStatuses),
    limit: withDefault(20, option("<count>", "maximum number of rows, up to 200", parsePositiveInteger)),
    cursor: option("<cursor>", "cursor of the next page, as printed by the previous one"),
  },
  async run(
    { organizations, deliveries, endpoints },
    { endpoint: endpointId, status, limit, cursor, ...options },
  ) {
    // An endpoint has one mode.
    const { org, mode = endpointId === undefined ? "live" : "all" } = options;
    const filter = { endpointId, status, ...(await selectionOf(organizations, { org, mode })) };
    const { items, nextCursor } = await deliveries.list(systemPrincipal, { filter, limit, cursor });
    const endpointById = await loadEndpoints(endpoints, items);
    const { document, text } = listResult(
      items.map((delivery) => ({ delivery, endpoint: endpointById.get(delivery.endpointId) })),
      LIST_FORMAT,
    );
    return {
      document: { ...document, next_cursor: nextCursor },
      text: nextCursor === null ? text : `${text}\nNext page: --cursor ${nextCursor}`,
    };
  },
});

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

const LIST_FORMAT: ListFormat<ListedDelivery> = {
  columns: {
    ID: ({ delivery }) => delivery.id,
    CREATED: ({ delivery }) => delivery.createdAt,
    EVENT: ({ delivery: { eventType, origin } }) =>
      origin === "event" ? eventType : `${eventType} (${origin})`,
    "MARKING NUMBER": ({ delivery }) => delivery.markingNumber ?? "-",
    STATUS: ({ delivery }) => (delivery.isInFlight ? "in flight" : delivery.status),
    ATTEMPTS: ({ delivery }) => String(delivery.attemptCount),
    OUTCOME: ({ delivery }) => delivery.outcome ?? "-",
    MODE: ({ endpoint }) => endpoint?.mode ?? "-",
    NEXT: formatNextAttempt,
  },
  toItem: ({ delivery, endpoint }) => ({
    ...toDocument(delivery),
    mode: endpoint?.mode ?? null,
    endpoint_blocked_until: isBlocked(delivery, endpoint) ? endpoint.blockedUntil : null,
  }),
  empty: "No deliveries.",
};

const show = webhookCommand("show", {
  description: "show a delivery and its attempts, with requests and responses",
  argument: ["<delivery>", "delivery ID (dlv_…)"],
  run: async ({ deliveries }, _options, id) => deliveryResult(await deliveries.get(systemPrincipal, id)),
});

/** The delivery with its attempts. */
export function deliveryResult(found: DeliveryDetail): Result {
  const document = { ...toDocument(found), attempts: found.attempts.map(toDocument) };
  return { document, text: formatDelivery(found) };
}

/** Returns the delivery, its attempts with headers and the request body as text for a terminal. */
function formatDelivery({ attempts, requestBody, ...delivery }: DeliveryDetail): string {
  const summary = {
    Delivery: delivery.id,
    Endpoint: delivery.endpointId,
    Event: `${delivery.eventId} (${delivery.eventType}${delivery.origin === "event" ? "" : `, ${delivery.origin}`})`,
    ...(delivery.markingNumber !== null && { "Marking Number": delivery.markingNumber }),
    Status: formatStatus(delivery),
    Created: delivery.createdAt,
  };
  const body = requestBody === null ? "(the event has been purged)" : escapeControlCharacters(requestBody);
  return [formatList(summary), ...attempts.map(formatAttempt), `Request body\n  ${body}`].join("\n\n");
}

function formatStatus({ status, outcome, attemptCount, nextAttemptAt, isInFlight }: DeliveryView): string {
  const noun = attemptCount === 1 ? "attempt" : "attempts";
  const after = attemptCount === 0 ? "" : ` after ${attemptCount} ${noun}`;
  const last = outcome === null || outcome === status ? "" : `, ${outcome}`;
  const next = isInFlight ? ", in flight" : nextAttemptAt === null ? "" : `, next attempt ${nextAttemptAt}`;
  return `${status}${after}${last}${next}`;
}

function formatAttempt(attempt: AttemptView): string {
  const result = attempt.httpStatus === null ? attempt.outcome : `HTTP ${attempt.httpStatus}`;
  const lines = [`Attempt ${attempt.number}: ${result} in ${attempt.durationMs} ms, ${attempt.startedAt}`];
  if (attempt.error !== null) lines.push(`  ${escapeControlCharacters(attempt.error)}`);
  lines.push(
    ...formatHeaders(">", attempt.requestHeaders),
    ...formatHeaders("<", attempt.responseHeaders ?? []),
  );
  if (attempt.responseBody) lines.push(`  < ${escapeControlCharacters(attempt.responseBody)}`);
  return lines.join("\n");
}

function formatHeaders(arrow: string, headers: AttemptView["requestHeaders"]): string[] {
  return headers.map(({ name, value }) => escapeControlCharacters(`  ${arrow} ${name}: ${value}`));
}

const REPLAY_HELP_TEXT = `
The receiver gets the same webhook-id with a new timestamp and signature. A server or worker that runs on this database
sends the replays, as fast as the endpoint's limits allow.

  waymark deliveries replay dlv_…
  waymark deliveries replay --endpoint whe_… --failed-since 12h
  waymark deliveries replay --endpoint whe_… --missing`;

/** Repeats the replay until no event is left. An error says how many were replayed before it. */
async function replayAll(
  deliveries: DeliveryService,
  endpoint: string,
  selection: ReplaySelection,
): Promise<number> {
  let replayed = 0;
  try {
    for (let hasMore = true; hasMore;) {
      const result = await deliveries.replayMany(systemPrincipal, endpoint, selection);
      replayed += result.replayed;
      ({ hasMore } = result);
    }
  } catch (error) {
    if (!(error instanceof AppError) || replayed === 0) throw error;
    throw new AppError(error.code, `${replayed} events were queued for replay, then: ${error.message}`);
  }
  return replayed;
}

const replay = webhookCommand("replay", {
  description: "send events again: one delivery, or the failed or missing deliveries of an endpoint",
  argument: ["[delivery]", "delivery ID (dlv_…)"],
  options: {
    endpoint: option("<endpoint>", "endpoint ID (whe_…)"),
    failedSince: option(
      "<when>",
      "replay deliveries that failed since this date, date-time or time ago (12h)",
      parseSince,
    ),
    missing: option<Date | true>(
      "[since]",
      "replay stored events that the endpoint has no delivery for; optionally only those since this time",
      parseSince,
    ),
    until: option("<when>", "with --failed-since or --missing: only before this time", parseSince),
  },
  help: REPLAY_HELP_TEXT,
  check({ endpoint, failedSince, missing, until }, id) {
    const selectors = [id, failedSince, missing].filter((selector) => selector !== undefined).length;
    const isOne = id !== undefined;
    if (selectors === 1 && isOne === (endpoint === undefined) && !(isOne && until)) return;
    throw new AppError(
      "BadRequestException",
      "Specify either a delivery ID, or --endpoint with --failed-since or --missing",
    );
  },
  async run({ deliveries }, { endpoint = "", failedSince, missing, until }, id) {
    if (id !== undefined) {
      const created = await deliveries.replay(systemPrincipal, id);
      return { document: toDocument(created), text: `Replay queued as ${created.id}.` };
    }
    const since = missing === true ? undefined : missing;
    const selection = failedSince
      ? ({ which: "failed", since: failedSince, until } as const)
      : ({ which: "missing", since, until } as const);
    const replayed = await replayAll(deliveries, endpoint, selection);
    const events = `${replayed.toLocaleString("en")} ${replayed === 1 ? "event" : "events"}`;
    return { document: { endpoint_id: endpoint, replayed }, text: `${events} queued for replay.` };
  },
});

export const deliveryCommands = commandGroup("deliveries", "list and replay webhook deliveries", [
  list,
  show,
  replay,
]);
