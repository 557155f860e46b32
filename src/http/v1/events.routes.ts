/** The route of the events feed. */
import { Router, type Request, type Response } from "express";
import { z } from "zod";
import {
  type EventService,
  eventTypes,
  feedCursorAt,
  type FeedPosition,
  readFeedCursor,
  toEventWire,
} from "../../events/api.ts";
import { toRequestHandler, type RouteResult } from "../route-result.ts";
import { principalOf, tagRoute } from "../context.ts";
import { methodNotAllowed } from "../error-handler.ts";
import { badRequest } from "../../platform/errors.ts";
import type { ApiKeyGuards } from "./guards.ts";
import { integerParameter, MAX_PAGE_SIZE, queryReader } from "./parameters.ts";

const eventType = z.enum(eventTypes, {
  error: ({ input }) => `must be one of ${eventTypes.join(", ")}; got ${JSON.stringify(input).slice(0, 100)}`,
});
const typeList = z
  .string()
  .transform((text) => text.split(","))
  .pipe(z.array(eventType));

export const feedParameters = z.object({
  after: z
    .string()
    .optional()
    .meta({
      minLength: 1,
      maxLength: 512,
      description:
        "`next_cursor` of the previous response, unchanged. `latest`: returns no events and a cursor for all events from " +
        "now on. By default the feed starts with the oldest event, up to 30 days ago.",
      examples: ["WzEsImV2ZW50cyIsIjEwNDIiLCIyMTciXQ"],
    }),
  types: typeList.optional().meta({
    type: "array",
    items: { type: "string", "x-extensible-enum": [...eventTypes] },
    minItems: 1,
    param: { style: "form", explode: false },
    description:
      "Only events of these types, separated by commas or as a repeated parameter. By default: all types.",
    examples: [["job.status_changed", "job.assigned"]],
  }),
  page_size: integerParameter(1, MAX_PAGE_SIZE)
    .default(MAX_PAGE_SIZE)
    .meta({ default: MAX_PAGE_SIZE, description: "Maximum number of events.", examples: [50] }),
});

/** Value of `after` that requests a cursor for future events. */
const LATEST = "latest";

const readFeedQuery = queryReader(feedParameters, ["types"]);

export function eventRoutes({ events, guards }: { events: EventService; guards: ApiKeyGuards }): Router {
  const feed = async (request: Request, response: Response): Promise<RouteResult> => {
    const { after, types = [], page_size: limit } = readFeedQuery(request.originalUrl);
    const principal = principalOf(response);
    if (after === LATEST) {
      const next_cursor = feedCursorAt(await events.newestPosition());
      return { data: { items: [], next_cursor, has_more: false } };
    }
    const page = await events.feed(principal, { after: readAfter(after), types, limit });
    const nextCursor = page.next && feedCursorAt(page.next);
    return {
      data: {
        items: page.items.map((item) => toEventWire(item, principal)),
        next_cursor: nextCursor,
        has_more: page.hasMore,
      },
    };
  };

  const router = Router({ caseSensitive: true });
  router
    .route("/events")
    .all(tagRoute("/v1/events"))
    .get(guards.read, toRequestHandler(feed))
    .all(methodNotAllowed("GET, HEAD"));
  return router;
}

function readAfter(cursor: string | undefined): FeedPosition | null {
  if (cursor === undefined) return null;
  const position = readFeedCursor(cursor);
  if (position) return position;
  const message = "is not a cursor of this feed; pass next_cursor unchanged";
  throw badRequest([{ location: "query", field: "after", code: "malformed", message }]);
}
