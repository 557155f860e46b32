/** Reads new events at the end of the feed for a subscription. */
import type { Queryable } from "../core/postgres/database.ts";
import type { Principal } from "../core/principal.ts";
import { raw, sql, type Sql } from "../core/postgres/sql.ts";
import { visibleTo } from "../jobs/api.ts";
import type { FeedPosition } from "./cursors.ts";
import { removalTypes } from "./entity.ts";
import { feedPositionColumns } from "./feed.sql.ts";
import { eventColumns, type EventWithPosition } from "./history.sql.ts";

export interface TailRow extends EventWithPosition {
  /** Null or false: the job after the change does not match the condition. */
  matches: boolean | null;
}

export interface TailPage {
  rows: readonly TailRow[];
  /** True if there can be more visible events. */
  hasMore: boolean;
  /** True if there are committed events that the feed hides until an older transaction ends. */
  hasHidden: boolean;
}

/** A condition on a row `job`. */
export type JobCondition = Sql;

/** A subscription holds at most one page, which bounds the memory for slow readers. */
const PAGE_SIZE = 100;

/**
 * Reads the events after `after` that `principal` can see, in feed order. `condition` is on a row `job`, the job after the change; null
 * matches every event. Removals match any condition, because a subscriber may have the job in its list.
 */
export async function readNewEvents(
  database: Queryable,
  principal: Principal,
  { after, condition }: { after: FeedPosition; condition: JobCondition | null },
): Promise<TailPage> {
  const matches = condition
    ? sql`(type = any(${removalTypes}) or (select ${condition} from jsonb_populate_record(null::job, job_event.job) job))`
    : raw("true");
  const found = await database.query<TailRow & { is_hidden: boolean }>(sql`
    select ${eventColumns}, ${feedPositionColumns}, ${matches} as matches,
      transaction_id >= feed_sequence(pg_snapshot_xmin(pg_current_snapshot())) as is_hidden
    from job_event
    where (transaction_id, position) > (${after.transaction_id}::xid8, ${after.position}::bigint)
      and ${visibleTo(principal, "job_event")}
    order by job_event.transaction_id, job_event.position limit ${PAGE_SIZE}`);
  // Hidden events are the last ones in feed order.
  const rows = found.filter(({ is_hidden: isHidden }) => !isHidden);
  return { rows, hasMore: rows.length === PAGE_SIZE, hasHidden: rows.length < found.length };
}
