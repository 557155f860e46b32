/**
 * The feed is ordered by transaction id plus an offset. Each restore raises the offset, because a restored database has lost
 * the newest ids and another cluster starts counting again.
 */
import type { Queryable } from "../core/postgres/database.ts";
import { invariant } from "../core/errors.ts";
import { raw, sql } from "../core/postgres/sql.ts";

/** More ids than are assigned while a transaction runs. */
const SEQUENCE_GAP = 1_000_000;

/**
 * Raises the offset so that new events sort after all earlier ones, including those lost by a restore. The sequence continues
 * at the microseconds since 1970, which transaction ids cannot reach. Blocks inserts of events until the caller's transaction
 * ends. Servers may keep running.
 */
export async function advanceFeedSequence(tx: Queryable): Promise<void> {
  // Wait for transactions that are inserting events with the old offset.
  await tx.query(raw("lock table job_event in share row exclusive mode"));
  const [row] = await tx.query<{ sequence_offset: string }>(sql`
    select (greatest(
        (extract(epoch from clock_timestamp()) * 1000000)::bigint,
        feed_sequence(pg_current_xact_id())::text::bigint + ${SEQUENCE_GAP},
        coalesce(newest.number, 0) + ${SEQUENCE_GAP}
      ) - pg_current_xact_id()::text::bigint)::text as sequence_offset
    from (values (1)) one_row left join (
      select transaction_id::text::bigint as number from job_event order by transaction_id desc, position desc limit 1
    ) newest on true`);
  invariant(row && /^\d+$/.test(row.sequence_offset), "the feed's offset is an integer");
  await tx.query(
    raw(`create or replace function feed_sequence(transaction_id xid8) returns xid8 language sql immutable parallel safe
      as $$ select (transaction_id::text::bigint + ${row.sequence_offset})::text::xid8 $$`),
  );
}

/** True if the newest event has a sequence of the future, because it came from another cluster. The feed would hide it. */
export async function isFeedAhead(queryable: Queryable): Promise<boolean> {
  const ahead = await queryable.query(
    raw(`
    select from (select transaction_id from job_event order by transaction_id desc, position desc limit 1) newest
    where transaction_id >= feed_sequence(pg_snapshot_xmax(pg_current_snapshot()))`),
  );
  return ahead.length > 0;
}
