/** What happened: the feed, and each change as it is committed. */
import { feedCursor, feedCursorAt, readFeedCursor } from "../../events/event.cursor.ts";
import type { TailRow } from "../../events/event.look.ts";
import { eventFeed } from "../../events/event.lookup.ts";
import { newestPosition } from "../../events/event.position.ts";
import { conditionSql } from "../../jobs/job.condition.ts";
import { allowed, holderOf } from "../access.ts";
import type { GraphqlContext } from "../context.ts";
import type { JobEventResolvers, QueryResolvers, SubscriptionResolvers } from "../generated/schema-types.ts";
import { toJobEventNode, toJobEventTypes } from "../nodes/event.node.ts";
import { emptyPage, pageRequest, readCursor, toConnection } from "../paging.ts";
import { checkedCondition } from "./job.ts";

/** In place of a cursor: from now on. */
const LATEST = "latest";

export const eventQueries: Pick<QueryResolvers, "events"> = {
  async events(_root, { types, ...args }, context) {
    const viewer = allowed(context, "jobs:read");
    const page = pageRequest(args);
    if (page.cursor === LATEST) return emptyPage(feedCursorAt(await newestPosition(context.database)));
    const after = readCursor(page, readFeedCursor);
    const query = { after, types: toJobEventTypes(types), limit: page.limit };
    const { items, hasMore, end } = await eventFeed({ ...context, ...context.services }, viewer, query);
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
      const viewer = allowed(context, "jobs:read");
      const condition = filter ? conditionSql(await checkedCondition(context, filter)) : null;
      return await context.services.tail.jobChanged(viewer, { condition, types: toJobEventTypes(types) });
    },
    resolve: (row: TailRow, _args: unknown, context: GraphqlContext) =>
      toJobEventNode(row, holderOf(context)),
  },
};
