/** Deletes many sessions at once. */
import type { Queryable } from "../../core/postgres/database.ts";
import { sql } from "../../core/postgres/sql.ts";
import { SESSION_IDLE_MS } from "./entity.ts";

/**
 * Deletes expired and idle sessions and expired verifications by PostgreSQL's clock, at most `limit` of each kind. The
 * ordered sub-selects in an array make even a generic plan use the indexes.
 */
export async function purgeSessions(on: Queryable, limit: number): Promise<void> {
  await on.query(sql`
    delete from user_session where id = any(array(
      (select id from user_session where expires_at <= now() order by expires_at limit ${limit}::int)
      union all
      (select id from user_session where last_seen_at <= now() - ${SESSION_IDLE_MS}::float8 * interval '1 ms'
        order by last_seen_at limit ${limit}::int)))`);
  await on.query(sql`
    delete from user_verification where id = any(array(
      select id from user_verification where expires_at <= now() order by expires_at
      limit ${limit}::int))`);
}

/** Deletes all sessions and makes all browsers unknown. Returns the number of sessions. */
export async function revokeAllSessions(on: Queryable): Promise<number> {
  const [row] = await on.query<{ ended: number }>(sql`
    with deleted as (delete from user_session returning 1),
      forgotten as (update user_account set epoch = gen_random_uuid())
    select count(*)::int as ended from deleted`);
  return row?.ended ?? 0;
}
