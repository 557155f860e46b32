/** The event feed, and the subscription to new events. */
import { feedCursor, LATEST, readFeedCursor, type TailRow } from "../../../events/api.ts";
import type { GraphqlContext } from "../context.ts";
import { withAccess } from "../authorize.ts";
import type { Resolvers } from "../generated/schema-types.ts";
import { toJobEventNode } from "../nodes.ts";
import { Connection, pageRequest, readCursor } from "../pagination.ts";
import { checkedFilter } from "./job.ts";

export const eventResolvers: Resolvers = {
  Query: withAccess({
    async events(_root, { types, ...args }, { principal, database, services }) {
      const page = pageRequest(args);
      const isLatest = page.cursor === LATEST;
      const after = isLatest ? null : readCursor(page, readFeedCursor);
      const query = { after, types: types ?? [], limit: page.limit };
      const { items, hasMore, end } = isLatest
        ? { items: [], hasMore: false, end: await services.events.newestPosition(database) }
        : await services.events.feed(principal, query, database);
      return new Connection({
        items,
        hasNext: hasMore,
        hasPrevious: page.cursor !== null,
        toNode: (row) => toJobEventNode(row, principal),
        cursorOf: feedCursor,
        endCursor: end && feedCursor(end),
      });
    },
  }),
  JobEvent: {
    cursor: ({ row }) => feedCursor(row),
    job: ({ row }, _args, { loaders }) => loaders.load("jobs", row.job_id),
  },
  Subscription: withAccess({
    jobChanged: {
      async subscribe(_root, { filter, types }, context) {
        const query = {
          filter: filter ? await checkedFilter(context, filter) : null,
          types: types ?? [],
        };
        return await context.services.tail.subscribe(context.principal, query, context.signal);
      },
      resolve: (row: TailRow, _args: unknown, { principal }: GraphqlContext) =>
        toJobEventNode(row, principal),
    },
  }),
};
