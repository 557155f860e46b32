/**
 * Deletes events of test agents. Those of live ones are kept. In small transactions, because the feed hides the events of all
 * organisations that follow the oldest transaction in progress.
 */
import type { Queryable } from "../core/postgres/database.ts";
import { sql } from "../core/postgres/sql.ts";
import type { FeedPosition } from "./cursors.ts";
import { feedPositionColumns } from "./feed.sql.ts";

/** Of one test agent. */
const MAX_TEST_EVENTS = 100_000;
const BATCH_SIZE = 5_000;

/** Returns the position of the agent's newest event after `offset` newer ones, or null if it has fewer. */
export async function newestEventOf(
  queryable: Queryable,
  agentId: string,
  offset = 0,
): Promise<FeedPosition | null> {
  const [position] = await queryable.query<FeedPosition>(sql`
    select ${feedPositionColumns} from job_event where agent_id = ${agentId}::uuid
    order by job_event.transaction_id desc, job_event.position desc offset ${offset}::int limit 1`);
  return position ?? null;
}

/** Deletes the agent's events up to `last`. Returns their number. */
export async function deleteEventsOf(
  queryable: Queryable,
  agentId: string,
  last: FeedPosition,
): Promise<number> {
  let [total, count] = [0, BATCH_SIZE];
  while (count === BATCH_SIZE) {
    const [row] = await queryable.query<{ deleted: number }>(sql`
      with deleted as (
        delete from job_event where id = any(array(
          select id from job_event
          where agent_id = ${agentId}::uuid
            and (transaction_id, position) <= (${last.transaction_id}::xid8, ${last.position}::bigint)
          order by transaction_id, position limit ${BATCH_SIZE}::int))
        returning 1
      ) select count(*)::int as deleted from deleted`);
    count = row?.deleted ?? 0;
    total += count;
  }
  return total;
}

/** Deletes the oldest events of each test agent that has more than `keep`. Returns their number. */
export async function trimTestEvents(queryable: Queryable, keep = MAX_TEST_EVENTS): Promise<number> {
  const agents = await queryable.query<{ id: string }>(sql`
    select id from organization where live_organization_id is not null and type = 'agent'`);
  let total = 0;
  for (const { id } of agents) {
    const last = await newestEventOf(queryable, id, keep);
    if (last) total += await deleteEventsOf(queryable, id, last);
  }
  return total;
}
