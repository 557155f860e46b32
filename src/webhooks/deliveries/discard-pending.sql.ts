/** Discards pending deliveries, which moves their rows from the queue's partition to the log's. */
import { isContentionError } from "../../core/postgres/errors.ts";
import type { Queryable } from "../../core/postgres/database.ts";
import { Transaction } from "../../core/postgres/transaction.ts";
import { minUuidAt, uuidV7Sql } from "../../core/ids.ts";
import { sql, type Sql } from "../../core/postgres/sql.ts";
import { RETRYING, NEVER_ATTEMPTED } from "./queue-lanes.sql.ts";

const MAX_ATTEMPTS = 10;

/** Runs a statement, up to 10 times if it conflicts with a worker that moves or locks the same rows. */
export async function queryWithRetry<Row>(database: Queryable | Transaction, statement: Sql): Promise<Row[]> {
  const run = () => database.query<Row>(statement);
  for (let attempt = 1; ; attempt += 1) {
    try {
      // A failed statement would make the transaction unusable.
      return await (database instanceof Transaction ? database.nested(run) : run());
    } catch (error) {
      if (attempt >= MAX_ATTEMPTS || !isContentionError(error)) throw error;
    }
  }
}

const BATCH_SIZE = 2_000;

export interface DiscardRequest {
  /** UUID. */
  endpointId: string;
  /** Discard only deliveries created before this time. Default: now, by PostgreSQL's clock. */
  createdBefore?: Date | undefined;
  /** What must hold for the endpoint while deliveries are discarded. Those of a deleted one are discarded in flight too. */
  endpointIs: "paused or disabled" | "deleted";
}

/** Discards pending deliveries of an endpoint in batches and returns their number. */
export async function discardPending(
  database: Queryable,
  { endpointId, createdBefore, endpointIs }: DiscardRequest,
): Promise<number> {
  const beforeId = createdBefore ? minUuidAt(createdBefore) : await currentUuid(database);
  const isDeleted = endpointIs === "deleted";
  const endpointCondition = isDeleted
    ? sql`endpoint.deleted_at is not null`
    : sql`endpoint.status <> 'active' and endpoint.deleted_at is null`;
  const notInFlight = isDeleted ? sql`` : sql`and (lease_token is null or due_at <= clock_timestamp())`;
  // One query per lane, because each lane has its own index.
  const pendingIn = (lane: Sql): Sql => sql`
    select id from webhook_delivery
    where ${lane} and endpoint_id = ${endpointId}::uuid and id < ${beforeId}::uuid
      ${notInFlight} and exists (
        select from webhook_endpoint endpoint where endpoint.id = ${endpointId}::uuid and ${endpointCondition})
    order by id limit ${BATCH_SIZE} for update`;
  let discarded = 0;
  for (;;) {
    const [row] = await queryWithRetry<{ count: number }>(
      database,
      sql`with first_attempts as materialized (${pendingIn(NEVER_ATTEMPTED)}),
        retries as materialized (${pendingIn(RETRYING)}),
        discarded as (
          update webhook_delivery
          set status = 'discarded', lease_token = null, finished_at = clock_timestamp()
          from (select id from first_attempts union all select id from retries) pending
          where webhook_delivery.status = 'pending' and webhook_delivery.id = pending.id
          returning 1
        ) select count(*)::int as count from discarded`,
    );
    discarded += row?.count ?? 0;
    if ((row?.count ?? 0) === 0) return discarded;
  }
}

/** A UUIDv7 newer than every existing delivery, by PostgreSQL's clock, which also creates delivery ids. */
export async function currentUuid(database: Queryable): Promise<string> {
  const [row] = await database.query<{ id: string }>(sql`select ${uuidV7Sql} as id`);
  return (row as { id: string }).id;
}
