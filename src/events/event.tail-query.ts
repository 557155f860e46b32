/** One look at the end of the feed, for everybody who follows it in this process. */
import type { Queryable } from "../platform/postgres/database.ts";
import { invariant } from "../platform/errors.ts";
import type { Principal } from "../platform/principal.ts";
import { raw, sql, type Sql } from "../platform/postgres/sql.ts";
import { visibleTo, visibleToAny } from "../jobs/api.ts";
import type { FeedPosition } from "./event.service.ts";
import type { EventRow } from "./event.wire.ts";

/** An event without the job, with its place in the feed and whom it is for. */
export interface TailRow extends Omit<EventRow, "job"> {
  job_id: string;
  agent_id: string;
  contractor_id: string | null;
  transaction_id: string;
  position: string;
}

export interface TailPage {
  rows: TailRow[];
  /** Whether there may be more rows that are shown already. */
  hasMore: boolean;
  /** The end of the feed: of transactions below this number everything is shown, of the others nothing is. */
  feedEnd: bigint;
  /** The number of the transaction to come: whatever was committed before the look is below it. */
  nextTransaction: bigint;
  /**
   * The place of the newest event that is shown, anybody's; before all others where there is none. Readers go on from here and
   * not from the end: what an event's transaction has committed is on disk, but after a crash PostgreSQL gives numbers anew
   * that were the end's and whose transactions left nothing there.
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

/** Rows of one look. */
const PAGE_SIZE = 500;

const columns = raw(
  `id, type, sequence, actor_type, actor_id, request_id, occurred_at, changes,
    job_id, agent_id, contractor_id, transaction_id::text as transaction_id, position`,
);

/**
 * What `viewers` may see after `after`; null: only where the feed ends. One statement for all of them, over the feed's own
 * order, so that it costs what was new since the look before, however many follow and however much there is.
 */
export async function readNewEvents(
  database: Queryable,
  principals: readonly Principal[],
  after: FeedPosition | null,
): Promise<TailPage> {
  const queryRows = await database.query<TailQueryRow>(sql`
    select feed_sequence(pg_snapshot_xmin(snapshot))::text as feed_end,
      feed_sequence(pg_snapshot_xmax(snapshot))::text as feed_next,
      newest.transaction_id::text as newest_transaction, newest.position as newest_position, event.*
    from pg_current_snapshot() snapshot left join lateral (
      select transaction_id, position from job_event
      where transaction_id < feed_sequence(pg_snapshot_xmin(pg_current_snapshot()))
      order by transaction_id desc, position desc limit 1
    ) newest on true left join lateral (
      select ${columns} from job_event
      where (transaction_id, position) > (${after?.transactionId ?? null}::xid8, ${after?.position ?? null}::bigint)
        and transaction_id < feed_sequence(pg_snapshot_xmin(pg_current_snapshot()))
        and ${visibleToAny(principals, "job_event")}
      order by job_event.transaction_id, job_event.position limit ${PAGE_SIZE}
    ) event on true`);
  const [first] = queryRows;
  invariant(first, "a snapshot is always there");
  const rows = first.id === null ? [] : (queryRows as unknown as TailRow[]);
  return {
    rows,
    hasMore: rows.length === PAGE_SIZE,
    feedEnd: BigInt(first.feed_end),
    nextTransaction: BigInt(first.feed_next),
    newestPosition: {
      transactionId: first.newest_transaction ?? "0",
      position: first.newest_position ?? "0",
    },
  };
}

/** The ids of those of `rows` that `viewer` may see and whose job, as the change left it, meets `condition`. */
export async function filterEvents(
  database: Queryable,
  principal: Principal,
  { rows, condition }: { rows: readonly TailRow[]; condition: Sql },
): Promise<Set<string>> {
  const ids = rows.map(({ id }) => id);
  const matching = await database.query<{ id: string }>(sql`
    select job_event.id from job_event, jsonb_populate_record(null::job, job_event.job) job
    where job_event.id = any(${ids}::uuid[]) and ${visibleTo(principal, "job_event")} and (${condition})`);
  return new Set(matching.map(({ id }) => id));
}
