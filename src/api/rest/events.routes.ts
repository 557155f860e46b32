/** The route of the events feed. */
import { addRoute } from "../add-route.ts";
import { Router, type Request, type Response } from "express";
import { z } from "zod";
import {
  type EventService,
  eventTypes,
  feedCursor,
  type FeedPosition,
  LATEST,
  readFeedCursor,
  toEventWire,
} from "../../events/api.ts";
import { toRequestHandler, type RouteResult } from "../json.ts";
import { principalOf } from "../context.ts";
import type { ApiKeyGuards } from "./api-key-guards.ts";
import { invalid, queryReader } from "./parameters.ts";
import {
  MAX_PAGE_SIZE,
  cursorLength,
  integerParameter,
  listMeta,
  listParameter,
} from "../../operations/schemas.ts";

export const feedParameters = z.object({
  after: z
    .string()
    .optional()
    .meta({
      ...cursorLength,
      description:
        "`next_cursor` of the previous response, unchanged. `latest`: returns no events and a cursor for all events from " +
        "now on. By default the feed starts with the oldest event, up to 30 days ago.",
      examples: ["WzEsImV2ZW50cyIsIjEwNDIiLCIyMTciXQ"],
    }),
  types: listParameter(eventTypes)
    .optional()
    .meta({
      ...listMeta(eventTypes, "x-extensible-enum"),
      description:
        "Only events of these types, separated by commas or as a repeated parameter. By default: all types.",
      examples: [["job.status_changed", "job.assigned"]],
    }),
  page_size: integerParameter(1, MAX_PAGE_SIZE)
    .default(MAX_PAGE_SIZE)
    .meta({ default: MAX_PAGE_SIZE, description: "Maximum number of events.", examples: [50] }),
});

const readFeedQuery = queryReader(feedParameters, ["types"]);

export function eventRoutes({ events, guards }: { events: EventService; guards: ApiKeyGuards }): Router {
  const feed = async (request: Request, response: Response): Promise<RouteResult> => {
    const { after, types = [], page_size: limit } = readFeedQuery(request.originalUrl);
    const principal = principalOf(response);
    if (after === LATEST)
      return { data: { items: [], next_cursor: feedCursor(await events.newestPosition()), has_more: false } };
    const position = readAfter(after);
    const page = await events.feedWithJobs(principal, { after: position, types, limit });
    const next = page.end ?? position;
    return {
      data: {
        items: page.items.map((item) => toEventWire(item, principal)),
        next_cursor: next && feedCursor(next),
        has_more: page.hasMore,
      },
    };
  };

  const router = Router({ caseSensitive: true });
  addRoute(
    router,
    { path: "/events", name: "/v1/events" },
    { get: [...guards("read", ["jobs:read"]), toRequestHandler(feed)] },
  );
  return router;
}

function readAfter(cursor: string | undefined): FeedPosition | null {
  if (cursor === undefined) return null;
  const position = readFeedCursor(cursor);
  if (position) return position;
  const message = "is not a cursor of this feed; pass next_cursor unchanged";
  throw invalid("query", "after", { code: "malformed", message });
}
