/** The event feed, and the subscription to new events. */
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

/** The special cursor for the end of the feed. */
const LATEST = "latest";

export const eventQueries: Pick<QueryResolvers, "events"> = {
  async events(_root, { types, ...args }, context) {
    const principal = authorize(context, "jobs:read");
    const page = pageRequest(args);
    if (page.cursor === LATEST) return emptyConnection(feedCursorAt(await newestPosition(context.database)));
    const after = readCursor(page, readFeedCursor);
    const query = { after, types: toJobEventTypes(types), limit: page.limit };
    const { items, hasMore, end } = await listFeedEvents(
      { ...context, ...context.services },
      principal,
      query,
    );
    return toConnection({
      items,
      hasNext: hasMore,
      hasPrevious: after !== null,
      toNode: (row) => toJobEventNode(row, principal),
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
      const principal = authorize(context, "jobs:read");
      const condition = filter ? filterToSql(await checkedFilter(context, filter)) : null;
      return await context.services.tail.subscribe(principal, { condition, types: toJobEventTypes(types) });
    },
    resolve: (row: TailRow, _args: unknown, context: GraphqlContext) =>
      toJobEventNode(row, requirePrincipal(context)),
  },
};
