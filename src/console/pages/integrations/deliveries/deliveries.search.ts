/** The filters of the delivery log in the URL. */
import { enumParam, textParam, typedIdParam, type RawSearch } from "../../../app/search-params.ts";
import type {
  WebhookDeliveriesQueryVariables,
  WebhookDeliveryStatus,
  WebhookEventType,
  WebhookHttpClass,
} from "../../../generated/webhook-deliveries.ts";
import { listedMode, parseListedMode, type ListedModeSearch } from "../listed-mode.ts";
import { eventTypeCode, webhookEventTypes } from "../event-types.ts";
import { deliveryStatuses } from "./delivery-status.ts";

export interface DeliveriesSearch extends ListedModeSearch {
  endpoint?: string | undefined;
  status?: Lowercase<WebhookDeliveryStatus> | undefined;
  /** `job.created`. */
  event?: string | undefined;
  marking_number?: string | undefined;
  /** `http_5xx`. */
  response?: Lowercase<WebhookHttpClass> | undefined;
  time?: Period | undefined;
  /** Bounds of the period `custom`: `2026-11-21T08:00`, in the browser's time zone. */
  from?: string | undefined;
  to?: string | undefined;
}

export const periods = ["hour", "day", "week", "custom"] as const;
export type Period = (typeof periods)[number];
const PERIOD_MS = { hour: 3_600_000, day: 86_400_000, week: 604_800_000 };

export const responseClasses = [
  "HTTP_2XX",
  "HTTP_3XX",
  "HTTP_4XX",
  "HTTP_5XX",
  "NO_RESPONSE",
] as const satisfies readonly WebhookHttpClass[];

const STATUS_VALUES = deliveryStatuses.map((status) => status.toLowerCase() as Lowercase<typeof status>);

export function parseDeliveriesSearch(search: RawSearch): DeliveriesSearch {
  return {
    endpoint: typedIdParam(search["endpoint"], "whe"),
    status: enumParam(search["status"], STATUS_VALUES),
    event: enumParam(search["event"], webhookEventTypes.map(eventTypeCode)),
    marking_number: textParam(search["marking_number"], 120),
    response: enumParam(
      search["response"],
      responseClasses.map((one) => one.toLowerCase() as Lowercase<typeof one>),
    ),
    time: enumParam(search["time"], periods),
    from: localTimeParam(search["from"]),
    to: localTimeParam(search["to"]),
    ...parseListedMode(search),
  };
}

function localTimeParam(value: unknown): string | undefined {
  const text = textParam(value, 16);
  return text !== undefined && !Number.isNaN(Date.parse(text)) ? text : undefined;
}

/** `nowMs`: when the last hour, day or week ends. */
export function deliveriesVariables(
  search: DeliveriesSearch,
  nowMs = Date.now(),
): Omit<WebhookDeliveriesQueryVariables, "first"> {
  return {
    endpointId: search.endpoint,
    status: search.status?.toUpperCase() as WebhookDeliveryStatus | undefined,
    eventType: eventTypeFromCode(search.event),
    markingNumber: search.marking_number,
    httpClass: search.response?.toUpperCase() as WebhookHttpClass | undefined,
    ...timeRange(search, nowMs),
    mode: listedMode(search),
  };
}

function timeRange({ time, from, to }: DeliveriesSearch, nowMs: number): { since?: string; until?: string } {
  if (time === undefined) return {};
  if (time !== "custom") return { since: new Date(nowMs - PERIOD_MS[time]).toISOString() };
  return {
    ...(from !== undefined && { since: new Date(from).toISOString() }),
    ...(to !== undefined && !isEmptyRange({ from, to }) && { until: new Date(to).toISOString() }),
  };
}

export function isEmptyRange({ from, to }: Pick<DeliveriesSearch, "from" | "to">): boolean {
  return from !== undefined && to !== undefined && Date.parse(to) <= Date.parse(from);
}

function eventTypeFromCode(code: string | undefined): WebhookEventType | undefined {
  return webhookEventTypes.find((type) => eventTypeCode(type) === code);
}

export function hasDeliveryFilters(search: DeliveriesSearch): boolean {
  return Object.values(search).some((value) => value !== undefined);
}
