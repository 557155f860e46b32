/** OpenAPI operation of the events feed. */
import { feedParameters } from "../events.routes.ts";
import { exampleEvents } from "../../../events/api.ts";
import { inQuery, invalidExample } from "./error-examples.ts";
import { operation } from "./operation.ts";
import { feedSchema } from "../responses.schema.ts";

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
