/** The operations of the delivery log and of pings. */
import { z } from "zod";
import { problemIn } from "../../core/errors.ts";
import { exampleEvents } from "../../events/api.ts";
import { markingNumberValue } from "../../jobs/api.ts";
import { Answer, type RequestPrincipal, restOperation } from "../../operations/operation.ts";
import {
  count,
  cursorPagination,
  cursorParameter,
  dateTimeParameter,
  MALFORMED_CURSOR,
  MAX_PAGE_SIZE,
  optionalParameter,
  pageSizeParameter,
  text,
} from "../../operations/schemas.ts";
import { change, endpointPath, exampleEndpoint, ownLimit, read } from "../endpoints/operations.ts";
import { exampleAttempt, listAttempts } from "./attempts.operations.ts";
import { type DeliveryDetail, readDeliveryCursor } from "./log-pages.sql.ts";
import type { DeliveryService } from "./service.ts";
import {
  deliveryDetailView,
  deliveryStatusFilters,
  deliveryView,
  httpClasses,
  webhookEventTypes,
} from "./view.ts";

interface Services {
  readonly deliveries: DeliveryService;
}

const tag = "Webhooks";
const inBody = problemIn("body");
const inQuery = problemIn("query");

const event = exampleEvents["job.status_changed"];
const exampleCursor = "WzEsImRlbGl2ZXJpZXMiLCIwMTlhYTU3ZiJd";

export const exampleDelivery: z.output<typeof deliveryView> = {
  id: "dlv_01KAJQZ4T8M2N6R0V4Y7C1F5HK",
  endpointId: exampleEndpoint.id,
  eventId: event.id,
  eventType: "job.status_changed",
  markingNumber: event.data.job.marking_number,
  origin: "event",
  status: "failed",
  attemptCount: 10,
  outcome: "http_500",
  nextAttemptAt: null,
  isInFlight: false,
  createdAt: "2026-11-21T09:15:42.320Z",
  finishedAt: "2026-11-24T13:07:31.902Z",
};

export const exampleReplay: z.output<typeof deliveryView> = {
  ...exampleDelivery,
  id: "dlv_01KATX3PQE7H1K5N9S2W6Z0B4D",
  origin: "replay",
  status: "pending",
  attemptCount: 0,
  outcome: null,
  createdAt: "2026-11-24T13:20:05.113Z",
  finishedAt: null,
};

const exampleDetail: z.output<typeof deliveryDetailView> = {
  ...exampleDelivery,
  status: "delivered",
  attemptCount: 1,
  outcome: "delivered",
  finishedAt: "2026-11-21T09:15:42.431Z",
  requestBody: JSON.stringify(event),
  attempts: [exampleAttempt],
};

const deliveryPath = z.object({
  id: z.string().meta({ description: "Delivery ID (`dlv_…`).", examples: [exampleDelivery.id] }),
});

/** An extensible code: its list of today is in the document, but it is not an enum for generated clients. */
const codeParameter = <Code extends string>(codes: readonly Code[], description: string) =>
  z
    .enum(codes, { error: `must be one of ${codes.join(", ")}` })
    .optional()
    .meta({ type: "string", "x-extensible-enum": [...codes], description, examples: [codes[1] as string] });

const toDate = (time: string | undefined): Date | undefined =>
  time === undefined ? undefined : new Date(time);

const listDeliveries = restOperation({
  ...read,
  name: "listWebhookDeliveries",
  rest: { method: "get", path: "/webhook-deliveries" },
  input: z.object({
    endpointId: optionalParameter(
      z.string(),
      "Only deliveries to this endpoint; a deleted one too. An unknown ID returns 404.",
      "whe_01KAJQ8V5N3R7T1YC6GK2D9XWE",
    ),
    status: codeParameter(
      deliveryStatusFilters,
      "Only deliveries with this status. `retrying`: pending ones that were attempted before.",
    ),
    httpClass: codeParameter(
      httpClasses,
      "Only deliveries whose last attempt got such a response; without `status`, no discarded ones. A page can have fewer items than " +
        "`page_size`, because it searches a limited number of deliveries.",
    ),
    outcome: optionalParameter(
      z.string().min(1, { error: "must not be empty" }).max(50, { error: "must have at most 50 characters" }),
      "Only deliveries whose last attempt had this result. Otherwise like `http_class`.",
      "timeout",
    ),
    eventType: codeParameter(webhookEventTypes, "Only deliveries of this event type."),
    markingNumber: optionalParameter(
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
    pageSize: pageSizeParameter,
    cursor: cursorParameter(readDeliveryCursor, {
      example: exampleCursor,
      description: "`pagination.next_cursor` of the previous page, or `cursor` of a replay, unchanged.",
    }),
  }),
  output: z
    .object({
      items: z.array(deliveryView).max(MAX_PAGE_SIZE).meta({ description: "The deliveries, newest first" }),
      pagination: cursorPagination,
    })
    .meta({ id: "WebhookDeliveryList" }),
  text: {
    tag,
    summary: "List webhook deliveries",
    description: `The delivery log of the key's organization, newest first, back to the retention time of the service. A
delivery must match all given filters.

Pass \`pagination.next_cursor\` as \`cursor\` to read the next page. With the \`cursor\` of a replay, the list contains only
the deliveries of that replay.`,
    result: {
      description: "A page of deliveries.",
      examples: {
        "A page with further pages": {
          items: [exampleDelivery],
          pagination: { pageSize: 1, nextCursor: exampleCursor },
        },
        "No deliveries": { items: [], pagination: { pageSize: 10, nextCursor: null } },
      },
    },
    malformed: [
      {
        summary: "An unknown status and a cursor of another list",
        problems: [
          inQuery(
            "status",
            "invalid_value",
            "must be one of pending, delivered, failed, discarded, retrying",
          ),
          inQuery("cursor", "invalid_value", MALFORMED_CURSOR),
        ],
      },
    ],
    errors: ["NotFoundException"],
  },
  async run({ deliveries }: Services, principal, { pageSize, cursor, since, until, ...rest }) {
    const filter = { ...rest, since: toDate(since), until: toDate(until) };
    const { items, nextCursor } = await deliveries.list(principal, { filter, limit: pageSize, cursor });
    return { items, pagination: { pageSize, nextCursor } };
  },
});

const getDelivery = restOperation({
  ...read,
  name: "getWebhookDelivery",
  rest: { method: "get", path: "/webhook-deliveries/{id}" },
  params: deliveryPath,
  output: deliveryDetailView,
  text: {
    tag,
    summary: "Get one webhook delivery",
    description:
      "The delivery with its attempts. `request_body` is null if the key lacks the scope `jobs:read`, because the body contains the job.",
    result: {
      description: "The delivery and its attempts.",
      examples: { "A delivery with one attempt": exampleDetail },
    },
  },
  run: async ({ deliveries }: Services, principal, { id }) =>
    withoutUnreadableJob(await deliveries.get(principal, id), principal),
});

/** The body contains the whole job, except that of a test event. */
function withoutUnreadableJob(delivery: DeliveryDetail, { scopes }: RequestPrincipal): DeliveryDetail {
  const isReadable = delivery.jobId === null || scopes.includes("jobs:read");
  return isReadable ? delivery : { ...delivery, requestBody: null };
}

const replayDelivery = restOperation({
  ...change,
  name: "replayWebhookDelivery",
  rest: { method: "post", path: "/webhook-deliveries/{id}/replay", status: 201 },
  graphql: { field: "replayDelivery" },
  once: {},
  params: deliveryPath,
  output: deliveryView,
  text: {
    tag,
    summary: "Replay one event",
    description: `Creates another delivery of the same event to the same endpoint, with the same \`webhook-id\` and ten new
attempts. If the original is pending, it is discarded.

Returns 409 if the delivery is in flight, is a test event, or its endpoint was deleted.`,
    result: { description: "The new delivery.", examples: { "The new delivery": exampleReplay } },
  },
  run: ({ deliveries }: Services, principal, { id }, { tx }) => deliveries.replay(principal, id, { tx }),
});

const sendPing = restOperation({
  ...change,
  name: "sendTestEvent",
  rest: { method: "post", path: "/webhook-endpoints/{id}/test", status: 201 },
  graphql: { args: { endpointId: "id" } },
  params: endpointPath,
  output: deliveryDetailView,
  text: {
    tag,
    summary: "Send a test event",
    description: `Sends a test event to the endpoint, waits up to 15 seconds for the receiver's response and returns the delivery
with its single attempt. Check \`status\` and \`outcome\`: a receiver that fails still gives 201. Works at any status of the endpoint.

Returns 429 while 5 test events of the organization are in flight, and 409 if the endpoint's secrets cannot be read.`,
    result: {
      description: "The delivery of the test event.",
      examples: {
        "The receiver returned 204": {
          ...exampleDetail,
          eventType: "webhook.test",
          markingNumber: null,
          origin: "test",
        },
      },
    },
    errors: ["ConflictException"],
    ownErrors: ownLimit("5 test events of the organization are in flight", "test events", 5),
  },
  run: ({ deliveries }: Services, principal, { id }, { external }) =>
    external(() => deliveries.ping(principal, id)),
});

const replayDeliveries = restOperation({
  ...change,
  name: "replayWebhookDeliveries",
  rest: { method: "post", path: "/webhook-endpoints/{id}/replay" },
  graphql: { field: "replayDeliveries", args: { endpointId: "id", only: "which" } },
  once: {},
  params: endpointPath,
  input: z
    .object({
      which: z.enum(["failed", "missing"], { error: "must be failed or missing" }).meta({
        type: "string",
        "x-extensible-enum": ["failed", "missing"],
        description:
          "`failed`: deliveries that failed, unless their event was replayed already. `missing`: events that the endpoint " +
          "subscribes to and has no delivery of, for example because it is new",
        examples: ["failed"],
      }),
      since: dateTimeParameter.optional().meta({
        description: "Only deliveries that failed, or events, at or after this time. Default: the whole log",
        examples: ["2026-11-21T08:00:00Z"],
      }),
      until: dateTimeParameter.optional().meta({
        description: "Only deliveries that failed, or events, before this time. Default: now",
        examples: ["2026-11-21T20:00:00Z"],
      }),
    })
    .meta({ id: "ReplayWebhooks" }),
  output: z
    .object({
      replayed: count("Number of new deliveries", 12),
      cursor: text(
        "Pass it as `cursor` to `GET /v1/webhook-deliveries`, which then lists the new deliveries only; null if there are none",
        exampleCursor,
      ).nullable(),
      hasMore: z
        .boolean()
        .meta({ description: "True if events may be left: repeat the request to replay them" }),
    })
    .meta({ id: "WebhookReplayResult" }),
  text: {
    tag,
    summary: "Replay many events to an endpoint",
    description: `Creates new deliveries of events that failed or that the endpoint never had, and returns their number. Pass
\`cursor\` to \`GET /v1/webhook-deliveries\` to follow them.

Repeating the request replays nothing twice: an event whose replay is pending or delivered is left out. A request replays at most
50,000 events; repeat it, with another Idempotency-Key, while \`has_more\` is true. An organization can replay 200,000 deliveries
at once, then 1,000 per second; beyond that the response is 429. With an Idempotency-Key the replay is one transaction: an error
means that nothing was replayed.`,
    body: {
      description: "Which events to replay.",
      examples: {
        failed: {
          summary: "What failed during an outage",
          value: { which: "failed", since: "2026-11-21T08:00:00Z", until: "2026-11-21T20:00:00Z" },
        },
        missing: { summary: "What a new endpoint never received", value: { which: "missing" } },
      },
    },
    result: {
      description: "The number of new deliveries.",
      examples: {
        "Twelve deliveries": { replayed: 12, cursor: exampleCursor, hasMore: false },
        "Nothing to replay": { replayed: 0, cursor: null, hasMore: false },
      },
    },
    malformed: [
      {
        summary: "An empty time range",
        problems: [inBody("until", "invalid_value", "must be after since")],
      },
    ],
    ownErrors: ownLimit(
      "2 replays of the organization are in flight, or it replayed as many deliveries as it can for now",
      "replays",
      2,
    ),
  },
  async run({ deliveries }: Services, principal, { id, which, since, until }, { tx }) {
    const period = { which, since: toDate(since), until: toDate(until) };
    const result = await deliveries.replayMany(principal, id, period, { tx });
    return new Answer(result, { changed: result.replayed > 0 });
  },
});

export const endpointDeliveryOperations = [sendPing, listAttempts, replayDeliveries];
export const deliveryOperations = [listDeliveries, getDelivery, replayDelivery];
