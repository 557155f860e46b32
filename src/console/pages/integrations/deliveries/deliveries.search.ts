/** The filters of the delivery log in the URL. */
import { enumParam, textParam, typedIdParam, type RawSearch } from "../../../app/search-params.ts";
import type {
  WebhookDeliveriesQueryVariables,
  WebhookDeliveryStatus,
  WebhookEventType,
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
}

const STATUS_VALUES = deliveryStatuses.map((status) => status.toLowerCase() as Lowercase<typeof status>);

export function parseDeliveriesSearch(search: RawSearch): DeliveriesSearch {
  return {
    endpoint: typedIdParam(search["endpoint"], "whe"),
    status: enumParam(search["status"], STATUS_VALUES),
    event: enumParam(search["event"], webhookEventTypes.map(eventTypeCode)),
    marking_number: textParam(search["marking_number"], 120),
    ...parseListedMode(search),
  };
}

export function deliveriesVariables(
  search: DeliveriesSearch,
): Omit<WebhookDeliveriesQueryVariables, "first"> {
  return {
    endpointId: search.endpoint,
    status: search.status?.toUpperCase() as WebhookDeliveryStatus | undefined,
    eventType: eventTypeFromCode(search.event),
    markingNumber: search.marking_number,
    mode: listedMode(search),
  };
}

function eventTypeFromCode(code: string | undefined): WebhookEventType | undefined {
  return webhookEventTypes.find((type) => eventTypeCode(type) === code);
}

export function hasDeliveryFilters(search: DeliveriesSearch): boolean {
  return Object.values(search).some((value) => value !== undefined);
}
