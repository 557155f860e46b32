/** Statements that move deliveries from what waits to the log, which are two partitions. */
import { isContentionError } from "../../platform/postgres/errors.ts";
import type { Queryable } from "../../platform/postgres/database.ts";
import { uuidV7Sql } from "../../platform/ids.ts";
import { sql, type Sql } from "../../platform/postgres/sql.ts";
import { RETRYING, NEVER_ATTEMPTED } from "./queue.sql.ts";

const MAX_ATTEMPTS = 10;
/** Runs a statement, again where a worker's turn moved the same rows meanwhile, or locked them in another order. */
export async function queryWithRetry<Row>(database: Queryable, statement: Sql): Promise<Row[]> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await database.query<Row>(statement);
    } catch (error) {
      if (attempt >= MAX_ATTEMPTS || !isContentionError(error)) throw error;
    }
  }
}

const BATCH_SIZE = 2_000;

export interface DiscardRequest {
  endpointId: string;
  /** Only those that were made before the id's. */
  beforeId: string;
  /** Whether also what is being sent at this moment. */
  includesInFlight: boolean;
  /** A condition on the row of the endpoint, under the name `endpoint`, that must still hold. */
  endpointCondition: Sql;
}

/** Discards what waits for an endpoint, a part at a time, and answers with how many deliveries that were. */
export async function discardPending(database: Queryable, request: DiscardRequest): Promise<number> {
  const { endpointId, beforeId } = request;
  const notInFlight = request.includesInFlight
    ? sql``
    : sql`and (lease_token is null or due_at <= clock_timestamp())`;
  // Each lane has an index of its own.
  const pendingIn = (lane: Sql): Sql => sql`
    select id from webhook_delivery
    where ${lane} and endpoint_id = ${endpointId}::uuid and id < ${beforeId}::uuid
      ${notInFlight} and exists (
        select from webhook_endpoint endpoint where endpoint.id = ${endpointId}::uuid and ${request.endpointCondition})
    order by id limit ${BATCH_SIZE} for update`;
  let discarded = 0;
  for (;;) {
    const [row] = await queryWithRetry<{ count: number }>(
      database,
      sql`with first as materialized (${pendingIn(NEVER_ATTEMPTED)}), again as materialized (${pendingIn(RETRYING)}),
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
export async function currentUuid(database: Queryable): Promise<string> {
  const [row] = await database.query<{ id: string }>(sql`select ${uuidV7Sql} as id`);
  return (row as { id: string }).id;
}
