/** The operations of webhook endpoints. */
import { z } from "zod";
import { AppError, badRequest, problemIn } from "../../core/errors.ts";
import { partnerOf } from "../../core/principal.ts";
import { type Access, type RequestPrincipal, restOperation } from "../../operations/operation.ts";
import { count, dateTimeParameter, text } from "../../operations/schemas.ts";
import type { EndpointOwner } from "../webhook-principal.ts";
import { changedSettings, endpointPatch, newEndpoint, newSettings } from "./input.ts";
import type { EndpointService } from "./service.ts";
import { endpointId, endpointView, PENDING_COUNT_LIMIT } from "./view.ts";

interface Services {
  readonly endpoints: EndpointService;
}

const tag = "Webhooks";
const inBody = problemIn("body");

export const manage: Access = { scopes: ["webhooks:manage"] };
export const read = { access: manage, rate: "read", fresh: false } as const;
export const change = { access: manage, rate: "write", fresh: false } as const;

export const exampleEndpoint: z.output<typeof endpointView> = {
  id: "whe_01KAJQ8V5N3R7T1YC6GK2D9XWE",
  url: "https://partner.example/webhooks",
  description: "Dispatch board",
  eventTypes: ["job.assigned", "job.status_changed"],
  headers: [{ name: "X-Api-Key", value: "********" }],
  maxInFlight: 8,
  perSecond: 50,
  status: "active",
  disabledReason: null,
  statusSince: "2026-11-21T09:00:12.405Z",
  blockedUntil: null,
  isCircuitOpen: false,
  failingSince: null,
  pending: 0,
  problem: null,
  secretCreatedAt: "2026-11-21T09:00:12.405Z",
  previousSecretsExpireAt: [],
  createdBy: "key_01KAB7Q3M5E8RZ2C4WFX9TNH6D",
  createdAt: "2026-11-21T09:00:12.405Z",
  updatedAt: "2026-11-21T09:00:12.405Z",
};
const exampleSecret = "whsec_d2F5bWFyay1kb2NzLXRlc3QtdmVjdG9yLTMyYnl0ZXM=";

/** The path of operations on one endpoint. The service rejects an unknown ID. */
export const endpointPath = z.object({
  id: z.string().meta({ description: "Endpoint ID (`whe_…`).", examples: [exampleEndpoint.id] }),
});

const endpointList = z
  .object({ items: z.array(endpointView).meta({ description: "All endpoints, oldest first" }) })
  .meta({ id: "WebhookEndpointList" });
const endpointWithSecret = z
  .object({
    endpoint: endpointView,
    secret: text(
      "Secret to verify signatures with. Null only in a response repeated for an Idempotency-Key",
      exampleSecret,
    ).nullable(),
  })
  .meta({ id: "WebhookEndpointWithSecret", description: "An endpoint with its new signing secret." });
const discarded = count("Number of pending deliveries that were discarded", 0);

const malformed = [
  {
    summary: "A private IP address and an unknown event type",
    problems: [
      inBody("url", "invalid_value", "must be a public server; 10.0.0.5 is a private IP address"),
      inBody("event_types[0]", "invalid_value", 'must be "job.created", or another of the known types'),
    ],
  },
  {
    summary: "An unknown member",
    problems: [inBody("eventTypes", "unknown_member", "is not a known member; did you mean event_types?")],
  },
];

/** What the documentation says of a limit of an organisation's requests to other servers. */
export const ownLimit = (limit: string, noun: string, max: number) => ({
  TooManyRequestsException: {
    description: `The key's rate limit is reached, or ${limit}.`,
    examples: [
      {
        summary: "The limit of this operation",
        message: `${max} ${noun} of this organisation are in flight, which is the limit. Try again in 5 s.`,
      },
    ],
  },
});
const urlCheckLimit = ownLimit(
  "the server checks 5 URLs of the organization at this moment",
  "URL checks",
  5,
);

const listEndpoints = restOperation({
  ...read,
  name: "listWebhookEndpoints",
  rest: { method: "get", path: "/webhook-endpoints" },
  output: endpointList,
  text: {
    tag,
    summary: "List webhook endpoints",
    description:
      "All endpoints of the key's organization, oldest first. The list has no pages, because an organization has at most 50.",
    result: {
      description: "The endpoints.",
      examples: { "One endpoint": { items: [exampleEndpoint] } },
    },
  },
  run: async ({ endpoints }: Services, principal) => ({ items: await endpoints.list(principal) }),
});

const createEndpoint = restOperation({
  name: "createWebhookEndpoint",
  rest: { method: "post", path: "/webhook-endpoints", status: 201 },
  // Whole jobs are sent to the URL.
  access: { scopes: ["webhooks:manage", "jobs:read"] },
  rate: "write",
  fresh: true,
  once: { secrets: ["secret"] },
  input: newEndpoint,
  output: endpointWithSecret,
  text: {
    tag,
    summary: "Create a webhook endpoint",
    description: `Creates an endpoint that receives the events of the organization's jobs, and returns its signing secret. Store
the secret: no other operation returns it. If it is lost, rotate it.

The scope \`jobs:read\` is required because whole jobs are sent to the URL. An organization can have at most 50 endpoints, a test organization 5;
another one returns 409.`,
    body: {
      description: "The settings of the endpoint. Only `url` is required.",
      examples: {
        all: { summary: "All events", value: { url: exampleEndpoint.url } },
        some: {
          summary: "Two event types, with a header for a gateway",
          value: {
            url: exampleEndpoint.url,
            description: exampleEndpoint.description,
            eventTypes: exampleEndpoint.eventTypes,
            headers: [{ name: "X-Api-Key", value: "k-49021" }],
          },
        },
      },
    },
    result: {
      description: "The endpoint and its signing secret.",
      examples: { "The endpoint": { endpoint: exampleEndpoint, secret: exampleSecret } },
    },
    malformed,
    ownErrors: urlCheckLimit,
  },
  async prepare({ endpoints }: Services, principal, input, { external, organizationId }) {
    const owner = ownerOf(principal, organizationId);
    return await external(() => endpoints.validate(partnerOf(owner), newSettings(input)));
  },
  run: ({ endpoints }, principal, input, { tx, prepared: validated, organizationId }) => {
    const settings = { ...newSettings(input), url: input.url };
    return endpoints.create(ownerOf(principal, organizationId), settings, { tx, validated });
  },
});

/** Throws ForbiddenException for another organisation, and BadRequestException for an operator who names none. */
function ownerOf(principal: RequestPrincipal, organizationId: string | null): EndpointOwner {
  const id = organizationId ?? principal.organizationId;
  if (principal.organizationId !== null && id !== principal.organizationId)
    throw new AppError("ForbiddenException", "An organisation can create endpoints only for itself");
  if (id !== null) return { ...principal, organizationId: id };
  const message = "must be the ID of the organisation that owns the endpoint";
  throw badRequest([inBody("organization_id", "invalid_value", message)]);
}

const getEndpoint = restOperation({
  ...read,
  name: "getWebhookEndpoint",
  rest: { method: "get", path: "/webhook-endpoints/{id}" },
  params: endpointPath,
  output: endpointView,
  text: {
    tag,
    summary: "Get one webhook endpoint",
    description: `The settings and the state of the endpoint. \`pending\` counts up to ${PENDING_COUNT_LIMIT.toLocaleString("en")}.`,
    result: { description: "The endpoint.", examples: { "The endpoint": exampleEndpoint } },
  },
  run: ({ endpoints }: Services, principal, { id }) => endpoints.get(principal, id),
});

const currentEndpoint = (example = exampleEndpoint) => ({
  description: "The current endpoint.",
  examples: { "The endpoint": example },
});

const updateEndpoint = restOperation({
  name: "updateWebhookEndpoint",
  rest: { method: "patch", path: "/webhook-endpoints/{id}" },
  access: { ...manage, scopesFor: ({ url: newUrl }) => (newUrl === undefined ? [] : ["jobs:read"]) },
  rate: "write",
  // Sending the same URL again needs none.
  fresh: "service",
  params: endpointPath,
  input: endpointPatch,
  output: endpointView,
  text: {
    tag,
    summary: "Update a webhook endpoint",
    description: `Changes the given settings. Absent settings stay as they are. Null clears \`description\`, selects all types for
\`event_types\`, and removes all \`headers\`; for other settings null returns 400. \`headers\` replaces all custom headers.

Setting \`url\` also requires the scope \`jobs:read\`, because whole jobs are sent to it.`,
    body: {
      description: "The settings to change.",
      examples: {
        types: { summary: "Only one event type", value: { eventTypes: ["job.status_changed"] } },
        cleared: {
          summary: "All event types, no custom headers",
          value: { eventTypes: null, headers: null },
        },
      },
    },
    result: currentEndpoint(),
    malformed,
    ownErrors: {
      ...urlCheckLimit,
      ForbiddenException: {
        description:
          "The key lacks `webhooks:manage`, or `jobs:read` to set `url`, or the request may not use it.",
        examples: [{ summary: "A new URL", message: "The API key lacks the scope jobs:read" }],
      },
    },
  },
  prepare({ endpoints }: Services, principal, { id, ...patch }, { external }) {
    const validate = () => endpoints.validateChange(principal, id, changedSettings(patch));
    // Only a new URL needs a DNS look-up.
    return patch.url === undefined ? validate() : external(validate);
  },
  run: ({ endpoints }, principal, { id, ...patch }, { prepared: validated }) =>
    endpoints.update(principal, id, changedSettings(patch), { validated }),
});

const deleteEndpoint = restOperation({
  ...change,
  name: "deleteWebhookEndpoint",
  rest: { method: "delete", path: "/webhook-endpoints/{id}" },
  params: endpointPath,
  output: z.object({ deletedId: endpointId, discarded }).meta({ id: "DeletedWebhookEndpoint" }),
  text: {
    tag,
    summary: "Delete a webhook endpoint",
    description:
      "Deletes the endpoint and discards its pending deliveries. Its delivery log remains for the retention time.",
    result: {
      description: "The endpoint was deleted.",
      examples: { "No delivery was pending": { deletedId: exampleEndpoint.id, discarded: 0 } },
    },
  },
  run: async ({ endpoints }: Services, principal, { id }) => ({
    ...(await endpoints.delete(principal, id)),
    deletedId: id,
  }),
});

const rotateSecret = restOperation({
  ...change,
  name: "rotateWebhookSecret",
  rest: { method: "post", path: "/webhook-endpoints/{id}/rotate-secret" },
  fresh: true,
  once: { secrets: ["secret"] },
  params: endpointPath,
  output: endpointWithSecret,
  text: {
    tag,
    summary: "Rotate the signing secret",
    description:
      "Creates a new signing secret and returns it. For 24 hours requests are signed with both the new and the previous secret.",
    result: {
      description: "The endpoint and its new signing secret.",
      examples: {
        "The endpoint": {
          endpoint: { ...exampleEndpoint, previousSecretsExpireAt: ["2026-11-22T09:00:12.405Z"] },
          secret: exampleSecret,
        },
      },
    },
  },
  run: ({ endpoints }: Services, principal, { id }, { tx }) => endpoints.rotateSecret(principal, id, { tx }),
});

const pauseEndpoint = restOperation({
  ...change,
  name: "pauseWebhookEndpoint",
  rest: { method: "post", path: "/webhook-endpoints/{id}/pause" },
  params: endpointPath,
  output: endpointView,
  text: {
    tag,
    summary: "Pause a webhook endpoint",
    description:
      "Puts the endpoint's deliveries on hold until it is resumed. Requests in flight are not stopped. A paused or disabled " +
      "endpoint stays as it is.",
    result: currentEndpoint({ ...exampleEndpoint, status: "paused" }),
  },
  run: ({ endpoints }: Services, principal, { id }) => endpoints.pause(principal, id),
});

const resumeEndpoint = restOperation({
  ...change,
  name: "resumeWebhookEndpoint",
  rest: { method: "post", path: "/webhook-endpoints/{id}/resume" },
  params: endpointPath,
  input: z
    .object({
      pending: z
        .enum(["send", "discard"], { error: "must be send or discard" })
        .default("send")
        .meta({
          type: "string",
          "x-extensible-enum": ["send", "discard"],
          description: "What to do with deliveries on hold: send them (the default), or discard them",
          examples: ["send"],
        }),
      since: dateTimeParameter.optional().meta({
        description: "With `pending: send`: send only events from this time on and discard older ones",
        examples: ["2026-11-21T08:00:00Z"],
      }),
    })
    .refine(({ pending, since }) => pending === "send" || since === undefined, {
      path: ["since"],
      error: "is only allowed with pending: send",
      params: { code: "conflict" },
    })
    .meta({ id: "ResumeWebhookEndpoint" }),
  output: z.object({ endpoint: endpointView, discarded }).meta({ id: "ResumedWebhookEndpoint" }),
  text: {
    tag,
    summary: "Resume a webhook endpoint",
    description:
      "Resumes a paused or disabled endpoint and closes its circuit. The body says what happens to deliveries on hold; without a " +
      "body they are sent. An active endpoint stays active.",
    body: {
      description: "What to do with deliveries on hold.",
      isOptional: true,
      examples: {
        send: { summary: "Send all", value: { pending: "send" } },
        since: {
          summary: "Send those of the last hours, discard older ones",
          value: { pending: "send", since: "2026-11-21T08:00:00Z" },
        },
        discard: { summary: "Discard all", value: { pending: "discard" } },
      },
    },
    result: {
      description: "The current endpoint, and how many deliveries were discarded.",
      examples: { "All deliveries on hold are sent": { endpoint: exampleEndpoint, discarded: 0 } },
    },
    malformed: [
      {
        summary: "A time that does not fit",
        problems: [inBody("since", "conflict", "is only allowed with pending: send")],
      },
    ],
  },
  run: ({ endpoints }: Services, principal, { id, pending, since }) => {
    const pendingPolicy = since === undefined ? pending : { since: new Date(since) };
    return endpoints.resume(principal, id, { pendingPolicy });
  },
});

export const endpointOperations = [
  listEndpoints,
  createEndpoint,
  getEndpoint,
  updateEndpoint,
  deleteEndpoint,
  rotateSecret,
  pauseEndpoint,
  resumeEndpoint,
];
