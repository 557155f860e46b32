/** Statements that move deliveries from what waits to the log, which are two partitions. */
import { isContended } from "../platform/database-errors.ts";
import type { Queryable } from "../platform/database.ts";
import { newUuidSql } from "../platform/ids.ts";
import { sql, type Sql } from "../platform/sql.ts";
import { AGAIN, FIRST } from "./delivery.lanes.ts";

const TRIES = 10;
/** Runs a statement, again where a worker's turn moved the same rows meanwhile, or locked them in another order. */
export async function queryMoving<Row>(database: Queryable, statement: Sql): Promise<Row[]> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await database.query<Row>(statement);
    } catch (error) {
      if (tried >= TRIES || !isContended(error)) throw error;
    }
  }
}

const AT_ONCE = 2_000;

export interface DiscardRequest {
  endpointId: string;
  /** Only those that were made before the id's. */
  beforeId: string;
  /** Whether also what is being sent at this moment. */
  inFlight: boolean;
  /** A condition on the row of the endpoint, under the name `endpoint`, that must still hold. */
  while: Sql;
}

/** Discards what waits for an endpoint, a part at a time, and answers with how many deliveries that were. */
export async function discardWaiting(database: Queryable, request: DiscardRequest): Promise<number> {
  const { endpointId, beforeId } = request;
  const inFlight = request.inFlight ? sql`` : sql`and (lease_token is null or due_at <= clock_timestamp())`;
  // Each lane has an index of its own.
  const waitingIn = (lane: Sql): Sql => sql`
    select id from webhook_delivery
    where ${lane} and endpoint_id = ${endpointId}::uuid and id < ${beforeId}::uuid
      ${inFlight} and exists (
        select from webhook_endpoint endpoint where endpoint.id = ${endpointId}::uuid and ${request.while})
    order by id limit ${AT_ONCE} for update`;
  let discarded = 0;
  for (;;) {
    const [row] = await queryMoving<{ count: number }>(
      database,
      sql`with first as materialized (${waitingIn(FIRST)}), again as materialized (${waitingIn(AGAIN)}),
        moved as (
          update webhook_delivery
          set status = 'discarded', lease_token = null, finished_at = clock_timestamp()
          from (select id from first union all select id from again) waiting
          where webhook_delivery.status = 'pending' and webhook_delivery.id = waiting.id
          returning 1
        ) select count(*)::int as count from moved`,
    );
    discarded += row?.count ?? 0;
    if ((row?.count ?? 0) === 0) return discarded;
  }
}

/** An id that is younger than every delivery there is: by PostgreSQL's clock, which makes theirs. */
export async function idOfNow(database: Queryable): Promise<string> {
  const [row] = await database.query<{ id: string }>(sql`select ${newUuidSql} as id`);
  return (row as { id: string }).id;
}
