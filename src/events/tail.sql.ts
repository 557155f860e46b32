/** Reads new events from the end of the feed for all subscribers of this process. */
import type { Queryable } from "../core/postgres/database.ts";
import { invariant } from "../core/errors.ts";
import type { Principal } from "../core/principal.ts";
import { sql, type Sql } from "../core/postgres/sql.ts";
import { isTestColumn, visibleTo, visibleToAny } from "../jobs/api.ts";
import type { FeedPosition } from "./feed-cursor.ts";
import { FEED_START, feedPositionColumns } from "./feed.sql.ts";
import { eventColumns, type EventWithPosition } from "./history.sql.ts";

/** An event with the organisations that can see it. */
export interface TailRow extends EventWithPosition {
  agent_id: string;
  contractor_id: string | null;
  is_test: boolean;
}

export interface TailPage {
  rows: TailRow[];
  /** True if the page is full, so that there can be more visible rows. */
  hasMore: boolean;
  /** The feed sequence below which all events are visible; events at or above it are hidden. */
  feedEnd: bigint;
  /** The feed sequence of the next transaction. Everything committed before the query is below it. */
  nextTransaction: bigint;
  /**
   * The newest visible event of any organisation; the start of the feed if there is none. Readers continue from here and not
   * from `feedEnd`, because after a crash PostgreSQL can assign transaction ids again that left nothing on disk.
   */
  newestPosition: FeedPosition;
}

interface TailQueryRow {
  feed_end: string;
  feed_next: string;
  newest_transaction: string | null;
  newest_position: string | null;
  id: string | null;
}

const PAGE_SIZE = 500;

const columns = sql`${eventColumns}, agent_id, contractor_id, ${isTestColumn("job_event")}, ${feedPositionColumns}`;

/**
 * Reads the events after `after` that at least one of `principals` can see; null reads only the end of the feed. One statement
 * in feed order serves all principals, so its cost depends only on the number of new events.
 */
export async function readNewEvents(
  database: Queryable,
  principals: readonly Principal[],
  after: FeedPosition | null,
): Promise<TailPage> {
  const queryRows = await database.query<TailQueryRow>(sql`
    select feed_sequence(pg_snapshot_xmin(snapshot))::text as feed_end,
      feed_sequence(pg_snapshot_xmax(snapshot))::text as feed_next,
      newest.transaction_id::text as newest_transaction, newest.position::text as newest_position, event.*
    from pg_current_snapshot() snapshot left join lateral (
      select transaction_id, position from job_event
      where transaction_id < feed_sequence(pg_snapshot_xmin(pg_current_snapshot()))
      order by transaction_id desc, position desc limit 1
    ) newest on true left join lateral (
      select ${columns} from job_event
      where (transaction_id, position) > (${after?.transaction_id ?? null}::xid8, ${after?.position ?? null}::bigint)
        and transaction_id < feed_sequence(pg_snapshot_xmin(pg_current_snapshot()))
        and ${visibleToAny(principals, "job_event")}
      order by job_event.transaction_id, job_event.position limit ${PAGE_SIZE}
    ) event on true`);
  const [first] = queryRows;
  invariant(first, "the tail query returns at least one row");
  const rows = first.id === null ? [] : (queryRows as unknown as TailRow[]);
  return {
    rows,
    hasMore: rows.length === PAGE_SIZE,
    feedEnd: BigInt(first.feed_end),
    nextTransaction: BigInt(first.feed_next),
    newestPosition:
      first.newest_transaction === null || first.newest_position === null
        ? FEED_START
        : { transaction_id: first.newest_transaction, position: first.newest_position },
  };
}

/** A condition on a row `job`. */
export type JobCondition = Sql;

/** The ids of the rows that `principal` can see and whose job after the change matches `condition`. */
export async function filterEvents(
  database: Queryable,
  principal: Principal,
  { rows, condition }: { rows: readonly TailRow[]; condition: JobCondition },
): Promise<Set<string>> {
  const ids = rows.map(({ id }) => id);
  const matching = await database.query<{ id: string }>(sql`
    select job_event.id from job_event, jsonb_populate_record(null::job, job_event.job) job
    where job_event.id = any(${ids}::uuid[]) and ${visibleTo(principal, "job_event")} and (${condition})`);
  return new Set(matching.map(({ id }) => id));
}
