/** Which deliveries the log shows, as its address says it. */
import { oneOf, text, typedId, type RawSearch } from "../../app/search.ts";
import type {
  WebhookDeliveriesQueryVariables,
  WebhookDeliveryStatus,
  WebhookEventType,
} from "../../generated/webhook-deliveries.ts";
import { eventTypeCode, webhookEventTypes } from "./event-types.ts";
import { deliveryStatuses } from "./outcomes.ts";

export interface DeliveriesSearch {
  endpoint?: string | undefined;
  status?: Lowercase<WebhookDeliveryStatus> | undefined;
  /** `job.created`. */
  event?: string | undefined;
  marking_number?: string | undefined;
}

const statuses = deliveryStatuses.map((status) => status.toLowerCase() as Lowercase<typeof status>);

export function deliveriesSearch(search: RawSearch): DeliveriesSearch {
  return {
    endpoint: typedId(search["endpoint"], "whe"),
    status: oneOf(search["status"], statuses),
    event: oneOf(search["event"], webhookEventTypes.map(eventTypeCode)),
    marking_number: text(search["marking_number"], 120),
  };
}

export function deliveriesFilter(search: DeliveriesSearch): Omit<WebhookDeliveriesQueryVariables, "first"> {
  return {
    endpointId: search.endpoint,
    status: search.status?.toUpperCase() as WebhookDeliveryStatus | undefined,
    eventType: typeOf(search.event),
    markingNumber: search.marking_number,
  };
}

function typeOf(code: string | undefined): WebhookEventType | undefined {
  return webhookEventTypes.find((type) => eventTypeCode(type) === code);
}

export function isFiltered(search: DeliveriesSearch): boolean {
  return Object.values(search).some((value) => value !== undefined);
}
