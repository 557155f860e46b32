/**
 * The numbers that put the feed in order: those of PostgreSQL's transactions, and a constant in front of them that grows with
 * each restore. A database that was restored has forgotten which numbers it gave, and in another cluster they begin anew.
 */
import type { Queryable } from "../platform/postgres/database.ts";
import { invariant } from "../platform/errors.ts";
import { raw, sql } from "../platform/postgres/sql.ts";

/** As many numbers as no time of a transaction's life uses up. */
const SEQUENCE_GAP = 1_000_000;

/**
 * Moves the feed on, so that events from now on come after every one that there ever was, whether or not this database
 * remembers it: their numbers begin with the microseconds since 1970, and no cluster has a transaction in each of them. Part of
 * the caller's transaction, for whose rest no event is written. Servers may run meanwhile: they plan anew.
 */
export async function advanceFeedSequence(tx: Queryable): Promise<void> {
  // Whoever is writing an event has its number by now, and is let finish.
  await tx.query(raw("lock table job_event in share row exclusive mode"));
  const [row] = await tx.query<{ step: string }>(sql`
    select (greatest(
        (extract(epoch from clock_timestamp()) * 1000000)::bigint,
        feed_sequence(pg_current_xact_id())::text::bigint + ${SEQUENCE_GAP},
        coalesce(newest.number, 0) + ${SEQUENCE_GAP}
      ) - pg_current_xact_id()::text::bigint)::text as step
    from (values (1)) always (here) left join (
      select transaction_id::text::bigint as number from job_event order by transaction_id desc, position desc limit 1
    ) newest on true`);
  invariant(row && /^\d+$/.test(row.step), "a feed moves on by a whole number");
  await tx.query(
    raw(`create or replace function feed_sequence(transaction_id xid8) returns xid8 language sql immutable parallel safe
      as $$ select (transaction_id::text::bigint + ${row.step})::text::xid8 $$`),
  );
}

/**
 * Whether an event has a number that no transaction has had yet: the rows came from another cluster, and nobody would be
 * shown them.
 */
export async function isFeedAhead(on: Queryable): Promise<boolean> {
  const ahead = await on.query(
    raw(`
    select from (select transaction_id from job_event order by transaction_id desc, position desc limit 1) newest
    where transaction_id >= feed_sequence(pg_snapshot_xmax(pg_current_snapshot()))`),
  );
  return ahead.length > 0;
}
