/** OpenAPI operations of the events feed and the reference data. */
import { z } from "zod";
import { feedParameters } from "../events.routes.ts";
import { exampleEvents } from "../../../events/api.ts";
import { inQuery, invalidExample } from "./error-examples.ts";
import { operation } from "./operation.ts";
import { failureReasonSchema, feedSchema, statusCodeSchema } from "../responses.schema.ts";

export const listEvents = operation({
  method: "get",
  path: "/events",
  operationId: "listEvents",
  summary: "Read the events feed",
  description: `The events of the last 30 days about jobs visible to the key's organization, with the same bodies as
webhooks. Poll the feed instead of using webhooks, or to catch up after an interruption.

Start without \`after\`. Keep \`next_cursor\` and pass it as \`after\`: immediately while \`has_more\` is true, then
periodically. Following the cursors, you get every event exactly once. With \`types\`, a page may have fewer events than
\`page_size\`, even none, while \`has_more\` is true. If the events after a cursor are older than 30 days, the response is
410: get a new cursor with \`after=latest\`, list the jobs, then follow the feed.`,
  tag: "Events",
  scopes: ["jobs:read"],
  request: { query: feedParameters },
  success: {
    description: "Events, oldest first.",
    name: "FeedEnvelope",
    data: feedSchema,
    examples: {
      "One event and no further page": {
        items: [exampleEvents["job.status_changed"]],
        next_cursor: "WzEsImV2ZW50cyIsIjEwNDIiLCIyMTciXQ",
        has_more: false,
      },
      "No events yet": { items: [], next_cursor: null, has_more: false },
    },
  },
  malformed: [
    invalidExample("A cursor of another list", [
      inQuery("after", "malformed", "is not a cursor of this feed; pass next_cursor unchanged"),
    ]),
  ],
  errors: ["GoneException"],
});

export const listStatuses = operation({
  method: "get",
  path: "/reference/statuses",
  operationId: "listStatuses",
  summary: "List the status codes",
  description: "The codes of `normalized_status`. New codes may be added at any time.",
  tag: "Reference",
  scopes: ["jobs:read"],
  success: {
    description: "The status codes.",
    name: "StatusListEnvelope",
    data: z.object({ items: z.array(statusCodeSchema) }).meta({ id: "StatusList" }),
    examples: {
      "Two status codes": {
        items: [
          { code: "completed", label: "Completed", category: "success", is_terminal: true },
          { code: "failed", label: "Delivery failed", category: "attention", is_terminal: false },
        ],
      },
    },
  },
});

export const listFailureReasons = operation({
  method: "get",
  path: "/reference/failure-reasons",
  operationId: "listFailureReasons",
  summary: "List the failure reasons",
  description: "Suggested values of `failure_reason`. Any other text of up to 64 characters is accepted too.",
  tag: "Reference",
  scopes: ["jobs:read"],
  success: {
    description: "The failure reasons.",
    name: "FailureReasonListEnvelope",
    data: z.object({ items: z.array(failureReasonSchema) }).meta({ id: "FailureReasonList" }),
    examples: {
      "One failure reason": {
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
});
