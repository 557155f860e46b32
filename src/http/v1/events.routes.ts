/** The events feed: what webhooks carry, to poll instead or to catch up. */
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
import { principalOf } from "../context.ts";
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
        "Where to continue: the `next_cursor` of the answer before, as it came. `latest`: no events, and a cursor that " +
        "continues with what happens from now on. Without it: from 30 days ago.",
      examples: ["WzEsImV2ZW50cyIsIjEwNDIiLCIyMTciXQ"],
    }),
  types: typeList.optional().meta({
    type: "array",
    items: { type: "string", "x-extensible-enum": [...eventTypes] },
    minItems: 1,
    param: { style: "form", explode: false },
    description:
      "Only events of these types, separated by commas or as a repeated parameter. Without it: all.",
    examples: [["job.status_changed", "job.assigned"]],
  }),
  page_size: integerParameter(1, MAX_PAGE_SIZE)
    .default(MAX_PAGE_SIZE)
    .meta({ default: MAX_PAGE_SIZE, description: "Events per answer.", examples: [50] }),
});

/** In place of a cursor: from now on. */
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
    .all(guards.tagRoute("/v1/events"))
    .get(guards.read, toRequestHandler(feed))
    .all(methodNotAllowed("GET, HEAD"));
  return router;
}

function readAfter(cursor: string | undefined): FeedPosition | null {
  if (cursor === undefined) return null;
  const position = readFeedCursor(cursor);
  if (position) return position;
  const message = "is not a cursor of this feed; use next_cursor as it came";
  throw badRequest([{ location: "query", field: "after", code: "malformed", message }]);
}
