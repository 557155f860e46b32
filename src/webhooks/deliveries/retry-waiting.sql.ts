/** Makes retries due before their time. */
import type { Queryable } from "../../core/postgres/database.ts";
import { sql } from "../../core/postgres/sql.ts";
import { forEndpoint, RETRYING } from "./queue-lanes.sql.ts";

const BATCH_SIZE = 2_000;

/**
 * Makes all retries of an endpoint (UUID) due that are not in flight, and returns their number. The caller wakes the workers, who
 * send them within the endpoint's limits.
 */
export async function retryWaiting(database: Queryable, endpointId: string): Promise<number> {
  for (let retried = 0; ;) {
    // In batches, so that a worker never waits long. A delivery that a worker has locked gets a result now.
    const [row] = await database.query<{ count: number }>(sql`
      with waiting as materialized (
        select id from webhook_delivery
        where ${RETRYING} and ${forEndpoint(sql`${endpointId}::uuid`)} and due_at > clock_timestamp()
          and lease_token is null
        order by endpoint_id, due_at limit ${BATCH_SIZE} for update skip locked
      ), moved as (
        update webhook_delivery set due_at = clock_timestamp()
        where status = 'pending' and id = any(array(select id from waiting))
        returning 1
      ) select count(*)::int as count from moved`);
    const count = row?.count ?? 0;
    retried += count;
    if (count < BATCH_SIZE) return retried;
  }
}
