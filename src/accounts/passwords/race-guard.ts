/** Detects a password change during a sign-in with the old password: verifying a hash is slow and may queue. */
import type { Queryable } from "../../platform/postgres/database.ts";
import { sql, type Sql } from "../../platform/postgres/sql.ts";

export interface PasswordSnapshot {
  /** Call it after creating the session. If false, the password change may have missed the session: revoke it. */
  isUnchanged(): Promise<boolean>;
}

/** `condition` on `user_account` must match at most one user. If it matches none, `isUnchanged` returns true. */
export async function snapshotPassword(database: Queryable, condition: Sql): Promise<PasswordSnapshot> {
  const [before] = await database.query<{ user_id: string; password: string }>(sql`
    select user_id, password from user_credential join user_account on user_account.id = user_id where ${condition}`);
  return {
    async isUnchanged() {
      if (!before) return true;
      // FOR SHARE waits for an uncommitted change. A change that starts later sees the session and revokes it.
      const [now] = await database.query<{ password: string }>(
        sql`select password from user_credential where user_id = ${before.user_id}::uuid for share`,
      );
      return now?.password === before.password;
    },
  };
}
