/** What happened: the feed, and each change as it is committed. */
import {
  feedCursor,
  feedCursorAt,
  listFeedEvents,
  newestPosition,
  readFeedCursor,
  type TailRow,
} from "../../events/api.ts";
import { filterToSql } from "../../jobs/api.ts";
import { authorize, requirePrincipal } from "../authorize.ts";
import type { GraphqlContext } from "../context.ts";
import type { JobEventResolvers, QueryResolvers, SubscriptionResolvers } from "../generated/schema-types.ts";
import { toJobEventNode, toJobEventTypes } from "../nodes/event.node.ts";
import { emptyConnection, pageRequest, readCursor, toConnection } from "../pagination.ts";
import { checkedFilter } from "./job.ts";

/** In place of a cursor: from now on. */
const LATEST = "latest";

export const eventQueries: Pick<QueryResolvers, "events"> = {
  async events(_root, { types, ...args }, context) {
    const viewer = authorize(context, "jobs:read");
    const page = pageRequest(args);
    if (page.cursor === LATEST) return emptyConnection(feedCursorAt(await newestPosition(context.database)));
    const after = readCursor(page, readFeedCursor);
    const query = { after, types: toJobEventTypes(types), limit: page.limit };
    const { items, hasMore, end } = await listFeedEvents({ ...context, ...context.services }, viewer, query);
    return toConnection({
      items,
      hasNext: hasMore,
      hasPrevious: after !== null,
      toNode: (row) => toJobEventNode(row, viewer),
      cursorOf: feedCursor,
      endCursor: end && feedCursor(end),
    });
  },
};

export const jobEvent: JobEventResolvers = {
  job: ({ jobUuid }, _args, { loaders }) => loaders.jobs.load(jobUuid),
};

export const subscriptions: SubscriptionResolvers = {
  jobChanged: {
    async subscribe(_root, { filter, types }, context) {
      const viewer = authorize(context, "jobs:read");
      const condition = filter ? filterToSql(await checkedFilter(context, filter)) : null;
      return await context.services.tail.subscribe(viewer, { condition, types: toJobEventTypes(types) });
    },
    resolve: (row: TailRow, _args: unknown, context: GraphqlContext) =>
      toJobEventNode(row, requirePrincipal(context)),
  },
};
