/** The events feed and the reference tables. */
import { z } from "zod";
import { feedParameters } from "../events.routes.ts";
import { exampleEvents } from "./examples.ts";
import { operation } from "./operation.ts";
import { failureReasonSchema, feedSchema, statusCodeSchema } from "../responses.schema.ts";

export const listEvents = operation({
  method: "get",
  path: "/events",
  operationId: "listEvents",
  summary: "Read the events feed",
  description: `The events of the last 30 days that concern jobs visible to the key's organization: the same bodies that
webhooks carry, to poll instead or to catch up.

Begin without \`after\`, keep \`next_cursor\` and hand it back as \`after\`, at once while \`has_more\` is true and then from
time to time. With \`types\` a page may hold fewer events than \`page_size\`, even none, while \`has_more\` is true. No event is left out and none comes twice along one cursor. A cursor after which events are older than 30 days
is 410: take a new one with \`after=latest\`, list the jobs, then follow the feed.`,
  tag: "Events",
  scopes: ["jobs:read"],
  request: { query: feedParameters },
  success: {
    description: "Events, oldest first.",
    name: "FeedEnvelope",
    data: feedSchema,
    examples: {
      "One event, and no more for now": {
        items: [exampleEvents["job.status_changed"]],
        next_cursor: "WzEsImV2ZW50cyIsIjEwNDIiLCIyMTciXQ",
        has_more: false,
      },
      "Nothing happened yet": { items: [], next_cursor: null, has_more: false },
    },
  },
  errors: [
    "GoneException",
    [
      "BadRequestException",
      {
        examples: [
          {
            summary: "A cursor of something else",
            message: "after is not a cursor of this feed; use next_cursor as it came",
            details: [
              {
                location: "query",
                field: "after",
                code: "malformed",
                message: "is not a cursor of this feed; use next_cursor as it came",
              },
            ],
          },
        ],
      },
    ],
  ],
});

export const listStatuses = operation({
  method: "get",
  path: "/reference/statuses",
  operationId: "listStatuses",
  summary: "List the status codes",
  description: "The codes that `normalized_status` may hold. Codes may be added at any time.",
  tag: "Reference",
  scopes: ["jobs:read"],
  success: {
    description: "The codes.",
    name: "StatusListEnvelope",
    data: z.object({ items: z.array(statusCodeSchema) }).meta({ id: "StatusList" }),
    examples: {
      "Two of the codes": {
        items: [
          { code: "completed", label: "Completed", category: "success", is_terminal: true },
          { code: "failed", label: "Delivery failed", category: "attention", is_terminal: false },
        ],
      },
    },
  },
  errors: [],
});

export const listFailureReasons = operation({
  method: "get",
  path: "/reference/failure-reasons",
  operationId: "listFailureReasons",
  summary: "List the failure reasons",
  description: "A catalogue for `failure_reason`. It is advice: any text of up to 64 characters is accepted.",
  tag: "Reference",
  scopes: ["jobs:read"],
  success: {
    description: "The catalogue.",
    name: "FailureReasonListEnvelope",
    data: z.object({ items: z.array(failureReasonSchema) }).meta({ id: "FailureReasonList" }),
    examples: {
      "One of the reasons": {
        items: [
          {
            code: "wrong_incomplete_address",
            label: "Wrong incomplete address",
            applies_to: ["failed", "on_hold"],
            next_step: "action",
          },
        ],
      },
    },
  },
  errors: [],
});
