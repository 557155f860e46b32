/** The operations that read the events of all jobs, and the history of one. */
import { z } from "zod";
import { problemIn } from "../core/errors.ts";
import { markingNumberPath, noMarkingNumber } from "../jobs/api.ts";
import { type RestOperation, restOperation } from "../operations/operation.ts";
import {
  cursorLength,
  integerParameter,
  listMeta,
  listParameter,
  MAX_PAGE_SIZE,
  malformedPage,
  pageParameter,
  pageSizeParameter,
  pagination,
} from "../operations/schemas.ts";
import { eventTypes } from "./entity.ts";
import { eventSchema, historyEntrySchema } from "./schema.ts";
import type { EventService } from "./service.ts";
import { toEventWire, toHistoryEntryWire } from "./wire.ts";
import { exampleEvents, exampleHistoryEntry } from "./examples.ts";
import { feedCursor, LATEST, readFeedCursor } from "./cursors.ts";

interface Services {
  readonly events: EventService;
}

const EXAMPLE_CURSOR = "WzEsImV2ZW50cyIsIjEwNDIiLCIyMTciXQ";
const MALFORMED = "is not a cursor of this feed; pass next_cursor unchanged";

const inQuery = problemIn("query");

const read = { access: { scopes: ["jobs:read"] }, rate: "read", fresh: false } as const;

const listEvents = restOperation({
  ...read,
  name: "listEvents",
  rest: { method: "get", path: "/events" },
  input: z.object({
    after: z
      .string()
      .refine((cursor) => cursor === LATEST || readFeedCursor(cursor) !== null, {
        error: MALFORMED,
        params: { code: "malformed" },
      })
      .optional()
      .meta({
        ...cursorLength,
        description:
          "`next_cursor` of the previous response, unchanged. `latest`: returns no events and a cursor for all events from " +
          "now on. By default the feed starts with the oldest event, up to 30 days ago.",
        examples: [EXAMPLE_CURSOR],
      }),
    types: listParameter(eventTypes)
      .optional()
      .meta({
        ...listMeta(eventTypes, "x-extensible-enum"),
        description:
          "Only events of these types, separated by commas or as a repeated parameter. By default: all types.",
        examples: [["job.status_changed", "job.assigned"]],
      }),
    pageSize: integerParameter(1, MAX_PAGE_SIZE)
      .default(MAX_PAGE_SIZE)
      .meta({ default: MAX_PAGE_SIZE, description: "Maximum number of events.", examples: [50] }),
  }),
  output: z
    .object({
      items: z.array(eventSchema).max(MAX_PAGE_SIZE).meta({ description: "The events, oldest first" }),
      nextCursor: z.string().nullable().meta({
        description: "Pass it as `after` to continue, now or later; null if there are no events yet",
      }),
      hasMore: z
        .boolean()
        .meta({ description: "True if there may be another page, even if this page is empty" }),
    })
    .meta({ id: "Feed" }),
  text: {
    tag: "Events",
    summary: "Read the events feed",
    description: `The events of the last 30 days about jobs visible to the key's organization, with the same bodies as
webhooks. Poll the feed instead of using webhooks, or to catch up after an interruption.

Start without \`after\`. Keep \`next_cursor\` and pass it as \`after\`: immediately while \`has_more\` is true, then
periodically. Following the cursors, you get every event exactly once. With \`types\`, a page may have fewer events than
\`page_size\`, even none, while \`has_more\` is true. If the events after a cursor are older than 30 days, the response is
410: get a new cursor with \`after=latest\`, list the jobs, then follow the feed.`,
    result: {
      description: "Events, oldest first.",
      examples: {
        "One event and no further page": {
          items: [exampleEvents["job.status_changed"]],
          nextCursor: EXAMPLE_CURSOR,
          hasMore: false,
        },
        "No events yet": { items: [], nextCursor: null, hasMore: false },
      },
    },
    malformed: [
      {
        summary: "A cursor of another list",
        problems: [inQuery("after", "malformed", MALFORMED)],
      },
    ],
    errors: ["GoneException"],
  },
  async run({ events }: Services, principal, { after, types = [], pageSize }) {
    if (after === LATEST)
      return { items: [], nextCursor: feedCursor(await events.newestPosition()), hasMore: false };
    const position = after === undefined ? null : readFeedCursor(after);
    const page = await events.feedWithJobs(principal, { after: position, types, limit: pageSize });
    const next = page.end ?? position;
    return {
      items: page.items.map((item) => toEventWire(item, principal)),
      nextCursor: next && feedCursor(next),
      hasMore: page.hasMore,
    };
  },
});

const listJobHistory = restOperation({
  ...read,
  name: "listJobHistory",
  rest: { method: "get", path: "/jobs/by-marking/{markingNumber}/history" },
  params: markingNumberPath,
  input: z.object({ page: pageParameter, pageSize: pageSizeParameter }),
  output: z.object({ items: z.array(historyEntrySchema), pagination }).meta({ id: "History" }),
  text: {
    tag: "Jobs",
    summary: "List a job's changes",
    description:
      "Every change of the job, newest first: actor, time, request ID, and the old and new value of each field.",
    result: {
      description: "A page of changes.",
      examples: {
        "A page of one change": {
          items: [exampleHistoryEntry],
          pagination: { page: 1, pageSize: 10, total: 1 },
        },
      },
    },
    malformed: [malformedPage, noMarkingNumber],
  },
  async run({ events }: Services, principal, { markingNumber, page = 1, pageSize }) {
    const part = { limit: pageSize, offset: (page - 1) * pageSize, beforeSequence: null };
    const { items, total } = await events.history(principal, markingNumber, part);
    return {
      items: items.map((item) => toHistoryEntryWire(item, principal)),
      pagination: { page, pageSize, total },
    };
  },
});

export const eventOperations: readonly RestOperation<Services>[] = [listJobHistory, listEvents];

/** The access of the root fields of GraphQL with hand-written resolvers. */
export const eventAccess = { events: listEvents.access, jobChanged: listEvents.access };
