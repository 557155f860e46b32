/** Reads the feed and the history of a job for REST and GraphQL. `EventTail` follows new events. */
import { JOB_NOT_FOUND } from "../jobs/api.ts";
import type { Clock } from "../core/clock.ts";
import { AppError } from "../core/errors.ts";
import type { Queryable } from "../core/postgres/database.ts";
import type { Principal } from "../core/principal.ts";
import { expiredCursor, newestPosition, readFeed, type FeedPage, type FeedQuery } from "./feed.sql.ts";
import {
  eventColumns,
  eventColumnsWithJob,
  readHistory,
  type EventWithPosition,
  type HistoryRequest,
} from "./history.sql.ts";
import type { EventRow } from "./wire.ts";

export type EventService = ReturnType<typeof createEventService>;

/** `reader` is the database to read from. Default: `database`. */
export function createEventService({ database, clock }: { database: Queryable; clock: Clock }) {
  return {
    /** The events after `after`, oldest first. Throws GoneException if events after it are older than 30 days. */
    feed(principal: Principal, query: FeedQuery, reader = database): Promise<FeedPage<EventWithPosition>> {
      return readFeed(reader, principal, { query, columns: eventColumns, nowMs: clock.now() });
    },

    /** Like `feed`, each event with the job after the change. */
    feedWithJobs(principal: Principal, query: FeedQuery): Promise<FeedPage<EventRow>> {
      return readFeed(database, principal, { query, columns: eventColumnsWithJob, nowMs: clock.now() });
    },

    expiredCursor: (): Promise<AppError> => expiredCursor(database, clock.now()),

    /** The position after which the feed returns only events that are committed from now on. */
    newestPosition: (reader = database) => newestPosition(reader),

    /** A page of a job's history and the number of its events. Throws NotFoundException if the job is not visible. */
    async history(principal: Principal, markingNumber: string, request: HistoryRequest) {
      const page = await readHistory(database, principal, { markingNumber, request });
      if (!page) throw new AppError("NotFoundException", JOB_NOT_FOUND);
      return page;
    },
  };
}
