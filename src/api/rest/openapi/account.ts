/** OpenAPI operations of the caller's own key and of the request log. */
import { z } from "zod";
import { meSchema } from "../me.routes.ts";
import { requestLogEntrySchema, requestLogParameters, requestLogSchema } from "../requests.routes.ts";
import { apiKeyView } from "../../../api-keys/api.ts";
import { exampleApiKey } from "../../../api-keys/operations.ts";
import { writerOf } from "../wire.ts";
import { inQuery, invalidExample } from "./error-examples.ts";
import { exampleRequestId } from "../../../events/api.ts";
import { operation } from "./operation.ts";
import { MALFORMED_CURSOR } from "../../../operations/schemas.ts";

export const getMe = operation({
  method: "get",
  path: "/me",
  operationId: "getMe",
  summary: "Get your organization, key and limits",
  description:
    "The organization and the API key of the request, its scopes and its rate limits. Use it to test a key.",
  tag: "Account",
  scopes: [],
  success: {
    description: "The organization and the key.",
    name: "MeEnvelope",
    data: meSchema,
    examples: {
      "A key that may read jobs": {
        organization: { id: "org_01KA2M8D6R4TX0VQ9ZC7JH3EWB", name: "Harbour Logistics", type: "agent" },
        api_key: writerOf(apiKeyView)(exampleApiKey),
        mode: "live",
        rate_limits: [
          { class: "read", per_second: 50, burst: 100, organization: { per_second: 200, burst: 400 } },
        ],
      },
    },
  },
});

const exampleEntry = {
  request_id: exampleRequestId,
  at: "2026-11-21T09:15:42.318Z",
  method: "PATCH",
  path: "/v1/jobs/by-marking/MN-2026-000123",
  status: 400,
  duration_ms: 4.2,
  error_code: "BadRequestException",
  key_id: "key_01KAB7Q3M5E8RZ2C4WFX9TNH6D",
  key_name: "Warehouse sync",
  request_body: '{"weight":"heavy"}',
  response_body: null,
  simulated: null,
};

const ACCESS =
  "Any key of the organization may read them. A key without `jobs:read` gets no bodies, and `***` for the Marking Numbers of paths.";

export const listRequests = operation({
  method: "get",
  path: "/requests",
  operationId: "listRequests",
  summary: "List your requests",
  description: `The requests made with your organization's API keys, newest first. Requests appear within seconds and are kept for 30 days
by default.

${ACCESS}`,
  tag: "Account",
  scopes: [],
  request: { query: requestLogParameters },
  success: {
    description: "A page of requests.",
    name: "RequestLogEnvelope",
    data: requestLogSchema,
    examples: {
      "A failed request": { items: [exampleEntry], pagination: { page_size: 10, next_cursor: null } },
    },
    headers: ["Link"],
  },
  malformed: [
    invalidExample("An unknown outcome", [
      inQuery("outcome", "invalid_value", "must be one of succeeded, refused, failed"),
    ]),
    invalidExample("A cursor of another list", [inQuery("cursor", "malformed", MALFORMED_CURSOR)]),
  ],
});

export const getRequest = operation({
  method: "get",
  path: "/requests/{request_id}",
  operationId: "getRequest",
  summary: "Get one of your requests",
  description: `The request with this ID, which every response has as \`request_id\` and \`X-Request-Id\`.

${ACCESS}`,
  tag: "Account",
  scopes: [],
  request: {
    params: z.object({
      request_id: z.string().meta({ description: "Request ID", examples: [exampleRequestId] }),
    }),
  },
  success: {
    description: "The request.",
    name: "RequestLogEntryEnvelope",
    data: requestLogEntrySchema,
    examples: { "A failed request": exampleEntry },
  },
  ownErrors: {
    NotFoundException: {
      description: "The log has no request of your organization with this ID.",
      examples: [
        {
          summary: "Unknown, or no longer in the log",
          message:
            "There is no such request in the log. Requests appear within seconds and are kept for 30 days",
        },
      ],
    },
  },
});
