/** Deliveries and attempts as the API shows them: typed ids, times in ISO 8601. */
import { z } from "zod";
import { eventTypes } from "../../events/api.ts";
import { markingNumberValue } from "../../jobs/api.ts";
import { timestampOf, toTypedId } from "../../core/ids.ts";
import { toIsoTime } from "../../core/time.ts";
import { count, dateTime, extensibleEnum, flag, idSchema, text } from "../../operations/schemas.ts";
import { toHeaderList } from "../endpoints/custom-headers.ts";
import { endpointId, shownHeader } from "../endpoints/view.ts";

/** `discarded`: the owner discarded it, or a replay replaced it. */
export const deliveryStatuses = ["pending", "delivered", "failed", "discarded"] as const;
/** `retrying`: pending, and attempted before. */
export const deliveryStatusFilters = [...deliveryStatuses, "retrying"] as const;
export type DeliveryStatusFilter = (typeof deliveryStatusFilters)[number];
/** Of the response to the last attempt. */
export const httpClasses = ["http_2xx", "http_3xx", "http_4xx", "http_5xx", "no_response"] as const;
export type HttpClass = (typeof httpClasses)[number];
const deliveryOrigins = ["event", "replay", "test"] as const;

export const PING_TYPE = "webhook.test";
export const webhookEventTypes = [...eventTypes, PING_TYPE] as const;

const exampleTime = "2026-11-21T09:15:42.318Z";
const outcome = (description: string) => text(description, "http_500");

export const deliveryView = z
  .object({
    id: idSchema("dlv", "Delivery ID", "dlv_01KAJQZ4T8M2N6R0V4Y7C1F5HK"),
    endpointId: endpointId.meta({
      description: "ID of the endpoint, kept when the endpoint is deleted",
      examples: ["whe_01KAJQ8V5N3R7T1YC6GK2D9XWE"],
    }),
    eventId: idSchema("evt", "Event ID, sent as `webhook-id`", "evt_01KAJQZ4T3C6Y1GKD8B5RVXE2H"),
    eventType: extensibleEnum(webhookEventTypes, "Type of the event"),
    markingNumber: markingNumberValue.nullable().meta({
      description: "Marking Number of the job; null for a test event",
      examples: ["MN-2026-000123"],
    }),
    origin: extensibleEnum(deliveryOrigins, "What created the delivery"),
    status: extensibleEnum(
      deliveryStatuses,
      "`pending`: waiting for an attempt, or on hold. `delivered`: the receiver returned 2xx. `failed`: all attempts failed. " +
        "`discarded`: cancelled by the owner, or replaced by a replay",
    ),
    attemptCount: count("Number of requests started", 1),
    outcome: outcome(
      "Result of the last attempt, such as `delivered`, `http_500` or `timeout`; null before the first result",
    ).nullable(),
    nextAttemptAt: dateTime("Time of the next attempt; null if none is scheduled", exampleTime).nullable(),
    isInFlight: flag("Whether a request is in flight"),
    createdAt: dateTime("Creation time", exampleTime),
    finishedAt: dateTime(
      "Time at which it reached its final status; null while it is pending",
      exampleTime,
    ).nullable(),
  })
  .meta({ id: "WebhookDelivery", description: "The delivery of one event to one endpoint." });

export interface DeliveryView extends z.output<typeof deliveryView> {
  /** Null for a test event. */
  jobId: string | null;
}

const attemptView = z
  .object({
    id: idSchema("att", "Attempt ID", "att_01KAJQZ4TB9D3F6J8M1P4S7VYA"),
    number: count("Number of the attempt, from 1", 1),
    startedAt: dateTime("Start time of the request", exampleTime),
    durationMs: count("Duration in milliseconds", 84),
    outcome: outcome("Result, such as `delivered`, `http_500` or `timeout`"),
    httpStatus: count("HTTP status of the response; null if there was none", 500).nullable(),
    error: text(
      "What is wrong and how to fix it; null on success",
      "The receiver returned 500 Internal Server Error.",
    ).nullable(),
    requestHeaders: z
      .array(shownHeader)
      .meta({ description: "Headers as sent; the values of custom headers are masked" }),
    responseHeaders: z
      .array(shownHeader)
      .nullable()
      .meta({ description: "Headers of the response; null if there was none" }),
    responseBody: text("The first 4 KiB of the response body; null if there was none", "ok").nullable(),
  })
  .meta({ id: "WebhookAttempt", description: "One HTTP request of a delivery." });

export type AttemptView = z.output<typeof attemptView>;

/** Without headers and body, which the delivery has. */
export const endpointAttemptView = attemptView
  .omit({ requestHeaders: true, responseHeaders: true, responseBody: true })
  .extend({ deliveryId: deliveryView.shape.id })
  .meta({ id: "WebhookEndpointAttempt", description: "One HTTP request to an endpoint." });

export const deliveryDetailView = z
  .object({
    ...deliveryView.shape,
    requestBody: text(
      "The exact body of each request. Null if the key lacks the scope `jobs:read`, because the body contains the job " +
        "(except for a test event), and if the event is older than the retention time",
      '{"id":"evt_01KAJQZ4T3C6Y1GKD8B5RVXE2H","type":"job.status_changed"}',
    ).nullable(),
    attempts: z.array(attemptView).meta({ description: "The requests sent, in order" }),
  })
  .meta({ id: "WebhookDeliveryDetail", description: "A delivery with its attempts." });

export interface EndpointAttempt extends AttemptView {
  readonly deliveryId: string;
}

/** A row of `deliveryColumns` and the job's Marking Number, with UUIDs and times as PostgreSQL's text. */
export interface DeliveryRow extends Omit<DeliveryView, "nextAttemptAt" | "isInFlight" | "createdAt"> {
  dueAt: string;
  isLeased: boolean;
}

export interface AttemptRow extends Omit<AttemptView, "requestHeaders" | "responseHeaders"> {
  /** A UUID. */
  deliveryId: string;
  requestHeaders: Record<string, string>;
  responseHeaders: Record<string, string> | null;
}

export function toDeliveryView({ dueAt, isLeased, ...row }: DeliveryRow): DeliveryView {
  const isPending = row.status === "pending";
  return {
    ...row,
    id: toTypedId("dlv", row.id),
    endpointId: toTypedId("whe", row.endpointId),
    eventId: toTypedId("evt", row.eventId),
    jobId: row.jobId === null ? null : toTypedId("job", row.jobId),
    nextAttemptAt: isPending && !isLeased && row.attemptCount > 0 ? toIsoTime(dueAt) : null,
    isInFlight: isPending && isLeased,
    createdAt: timestampOf(row.id),
    finishedAt: row.finishedAt === null ? null : toIsoTime(row.finishedAt),
  };
}

export function toAttemptView(attemptRow: AttemptRow): AttemptView {
  const { deliveryId: _, requestHeaders, responseHeaders, ...row } = attemptRow;
  return {
    ...row,
    id: toTypedId("att", row.id),
    startedAt: toIsoTime(row.startedAt),
    requestHeaders: toHeaderList(requestHeaders),
    responseHeaders: responseHeaders && toHeaderList(responseHeaders),
  };
}
