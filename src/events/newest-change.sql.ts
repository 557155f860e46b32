/** Looks up the newest change that an organisation may know of. A replica must have it to answer. */
import type { Queryable } from "../core/postgres/database.ts";
import { sql } from "../core/postgres/sql.ts";

/** Returns the feed sequence of the newest event of the organisation's jobs, or 0. */
export async function newestChange(database: Queryable, organizationId: string): Promise<bigint> {
  const [row] = await database.query<{ newest: string | null }>(sql`select greatest(
    (select transaction_id from job_event where agent_id = ${organizationId}::uuid order by transaction_id desc limit 1),
    (select transaction_id from job_event where contractor_id = ${organizationId}::uuid order by transaction_id desc limit 1)
  )::text as newest`);
  return BigInt(row?.newest ?? 0);
}
