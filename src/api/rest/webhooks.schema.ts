/** Requests and responses of the webhook routes as zod: for the routes, for OpenAPI and for the contract tests. */
import { z } from "zod";
import { eventTypes } from "../../events/api.ts";
import { markingNumberValue } from "../../jobs/api.ts";
import {
  deliveryStatuses,
  disabledReasons,
  endpointStatuses,
  readDeliveryCursor,
  TEST_EVENT_TYPE,
} from "../../webhooks/api.ts";
import { extensibleEnum } from "./errors.schema.ts";
import {
  cursorLength,
  dateTimeParameter,
  MALFORMED_CURSOR,
  MAX_PAGE_SIZE,
  optionalParameter,
  pageSizeParameter,
} from "./parameters.ts";
import { count, cursorPaginationSchema, dateTime, idSchema, text } from "./responses.schema.ts";

const exampleTime = "2026-11-21T09:15:42.318Z";
const webhookEventTypes = [...eventTypes, TEST_EVENT_TYPE] as const;

const endpointId = idSchema("whe", "Endpoint ID", "whe_01KAJQ8V5N3R7T1YC6GK2D9XWE");
const deliveryId = idSchema("dlv", "Delivery ID", "dlv_01KAJQZ4T8M2N6R0V4Y7C1F5HK");
const eventId = idSchema("evt", "Event ID, sent as `webhook-id`", "evt_01KAJQZ4T3C6Y1GKD8B5RVXE2H");

const flag = (description: string) => z.boolean().meta({ description });

const headerSchema = z
  .object({
    name: text("Name", "X-Api-Key"),
    value: text("Value; secret values are masked", "********"),
  })
  .meta({ id: "WebhookHeader", description: "A header of a request or response." });

export const endpointSchema = z
  .object({
    id: endpointId,
    url: text("URL that receives the events", "https://partner.example/webhooks"),
    description: text("Description, set by the owner", "Dispatch board"),
    event_types: z
      .array(extensibleEnum(eventTypes, "An event type"))
      .nullable()
      .meta({ description: "Event types to send; null: all, including future types" }),
    headers: z
      .array(headerSchema)
      .meta({ description: "Custom headers sent with every request; their values are masked" }),
    max_in_flight: count("Maximum number of concurrent requests", 8),
    per_second: count("Maximum number of requests per second", 50),
    status: extensibleEnum(
      endpointStatuses,
      "`paused` by its owner, `disabled` by the service. In both cases deliveries are on hold",
    ),
    disabled_reason: extensibleEnum(
      disabledReasons,
      "Why it is disabled; null if it is not. `gone`: the receiver returned 410. `failing`: nothing succeeded for 5 days; for a test endpoint, for 75 seconds",
    )
      .nullable()
      .meta({ type: ["string", "null"] }),
    status_since: dateTime("Time of the last status change", exampleTime),
    blocked_until: dateTime(
      "Deliveries resume at this time, because the receiver asked to wait or recent deliveries failed; null if they are not blocked",
      exampleTime,
    ).nullable(),
    is_circuit_open: flag("True while recent deliveries failed and only occasional probes are sent"),
    failing_since: dateTime(
      "Time of the first failure since the last success; null if the last delivery succeeded",
      exampleTime,
    ).nullable(),
    pending: count("Number of pending deliveries, counted up to 10,000", 0),
    problem: text(
      "Reason why requests cannot be signed; null if they can",
      "The secrets were encrypted with another WAYMARK_SECRET",
    ).nullable(),
    secret_created_at: dateTime("Creation time of the current secret", exampleTime),
    previous_secrets_expire_at: z
      .array(dateTime("Expiry time", exampleTime))
      .meta({ description: "Expiry times of previous secrets that still sign requests" }),
    created_by: text(
      "ID of the user or key that created it, or `operator`",
      "key_01KAB7Q3M5E8RZ2C4WFX9TNH6D",
    ),
    created_at: dateTime("Creation time", exampleTime),
    updated_at: dateTime("Time of the last change", exampleTime),
  })
  .meta({ id: "WebhookEndpoint", description: "A URL that receives events." });

export const endpointListSchema = z
  .object({ items: z.array(endpointSchema).meta({ description: "All endpoints, oldest first" }) })
  .meta({ id: "WebhookEndpointList" });

export const endpointWithSecretSchema = z
  .object({
    endpoint: endpointSchema,
    secret: text(
      "Secret to verify signatures with. Null only in a response repeated for an Idempotency-Key",
      "whsec_d2F5bWFyay1kb2NzLXRlc3QtdmVjdG9yLTMyYnl0ZXM=",
    ).nullable(),
  })
  .meta({ id: "WebhookEndpointWithSecret", description: "An endpoint with its new signing secret." });

const discarded = count("Number of pending deliveries that were discarded", 0);

export const deletedEndpointSchema = z
  .object({ deleted_id: endpointId, discarded })
  .meta({ id: "DeletedWebhookEndpoint" });

export const resumedEndpointSchema = z
  .object({ endpoint: endpointSchema, discarded })
  .meta({ id: "ResumedWebhookEndpoint" });

const outcome = (description: string) => text(description, "http_500");

const deliveryShape = {
  id: deliveryId,
  endpoint_id: endpointId.meta({
    description: "ID of the endpoint, kept when the endpoint is deleted",
    examples: ["whe_01KAJQ8V5N3R7T1YC6GK2D9XWE"],
  }),
  event_id: eventId,
  event_type: extensibleEnum(webhookEventTypes, "Type of the event"),
  marking_number: markingNumberValue
    .nullable()
    .meta({ description: "Marking Number of the job; null for a test event", examples: ["MN-2026-000123"] }),
  origin: extensibleEnum(["event", "replay", "test"], "What created the delivery"),
  status: extensibleEnum(
    deliveryStatuses,
    "`pending`: waiting for an attempt, or on hold. `delivered`: the receiver returned 2xx. `failed`: all attempts failed. " +
      "`discarded`: cancelled by the owner, or replaced by a replay",
  ),
  attempt_count: count("Number of requests started", 1),
  outcome: outcome(
    "Result of the last attempt, such as `delivered`, `http_500` or `timeout`; null before the first result",
  ).nullable(),
  next_attempt_at: dateTime("Time of the next attempt; null if none is scheduled", exampleTime).nullable(),
  is_in_flight: flag("Whether a request is in flight"),
  created_at: dateTime("Creation time", exampleTime),
  finished_at: dateTime(
    "Time at which it reached its final status; null while it is pending",
    exampleTime,
  ).nullable(),
};

export const deliverySchema = z
  .object(deliveryShape)
  .meta({ id: "WebhookDelivery", description: "The delivery of one event to one endpoint." });

const attemptSchema = z
  .object({
    id: idSchema("att", "Attempt ID", "att_01KAJQZ4TB9D3F6J8M1P4S7VYA"),
    number: count("Number of the attempt, from 1", 1),
    started_at: dateTime("Start time of the request", exampleTime),
    duration_ms: count("Duration in milliseconds", 84),
    outcome: outcome("Result, such as `delivered`, `http_500` or `timeout`"),
    http_status: count("HTTP status of the response; null if there was none", 500).nullable(),
    error: text(
      "What is wrong and how to fix it; null on success",
      "The receiver returned 500 Internal Server Error.",
    ).nullable(),
    request_headers: z
      .array(headerSchema)
      .meta({ description: "Headers as sent; the values of custom headers are masked" }),
    response_headers: z
      .array(headerSchema)
      .nullable()
      .meta({ description: "Headers of the response; null if there was none" }),
    response_body: text("The first 4 KiB of the response body; null if there was none", "ok").nullable(),
  })
  .meta({ id: "WebhookAttempt", description: "One HTTP request of a delivery." });

export const deliveryDetailSchema = z
  .object({
    ...deliveryShape,
    request_body: text(
      "The exact body of each request. Null if the key lacks the scope `jobs:read`, because the body contains the job " +
        "(except for a test event), and if the event is older than the retention time",
      '{"id":"evt_01KAJQZ4T3C6Y1GKD8B5RVXE2H","type":"job.status_changed"}',
    ).nullable(),
    attempts: z.array(attemptSchema).meta({ description: "The requests sent, in order" }),
  })
  .meta({ id: "WebhookDeliveryDetail", description: "A delivery with its attempts." });

const cursorExample = "WzEsImRlbGl2ZXJpZXMiLCIwMTlhYTU3ZiJd";

export const deliveryListSchema = z
  .object({
    items: z.array(deliverySchema).max(MAX_PAGE_SIZE).meta({ description: "The deliveries, newest first" }),
    pagination: cursorPaginationSchema,
  })
  .meta({ id: "WebhookDeliveryList" });

export const replayResultSchema = z
  .object({
    replayed: count("Number of new deliveries", 12),
    cursor: text(
      "Pass it as `cursor` to `GET /v1/webhook-deliveries`, which then lists the new deliveries only; null if there are none",
      cursorExample,
    ).nullable(),
    has_more: z
      .boolean()
      .meta({ description: "True if events may be left: repeat the request to replay them" }),
  })
  .meta({ id: "WebhookReplayResult" });

/** An extensible code: its list of today is in the document, but it is not an enum for generated clients. */
const codeParameter = <Code extends string>(codes: readonly Code[], description: string) =>
  z
    .enum(codes, { error: `must be one of ${codes.join(", ")}` })
    .optional()
    .meta({ type: "string", "x-extensible-enum": [...codes], description, examples: [codes[1] as string] });

export const deliveryParameters = z.object({
  endpoint_id: optionalParameter(
    z.string(),
    "Only deliveries to this endpoint; a deleted one too. An unknown ID returns 404.",
    "whe_01KAJQ8V5N3R7T1YC6GK2D9XWE",
  ),
  status: codeParameter(deliveryStatuses, "Only deliveries with this status."),
  event_type: codeParameter(webhookEventTypes, "Only deliveries of this event type."),
  marking_number: optionalParameter(
    markingNumberValue,
    "Only deliveries of events of this job.",
    "MN-2026-000123",
  ),
  since: optionalParameter(
    dateTimeParameter,
    "Only deliveries created at or after this time.",
    "2026-11-21T08:00:00Z",
  ),
  until: optionalParameter(
    dateTimeParameter,
    "Only deliveries created before this time.",
    "2026-11-21T20:00:00Z",
  ),
  page_size: pageSizeParameter,
  cursor: optionalParameter(
    z.string().refine((cursor) => readDeliveryCursor(cursor) !== null, { error: MALFORMED_CURSOR }),
    "`pagination.next_cursor` of the previous page, or `cursor` of a replay, unchanged.",
    cursorExample,
    cursorLength,
  ),
});
