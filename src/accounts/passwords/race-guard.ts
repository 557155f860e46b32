/** Whether a password was replaced while somebody signed in with the old one: comparing it takes a while, and waits for its turn. */
import type { Queryable } from "../../platform/postgres/database.ts";
import { sql, type Sql } from "../../platform/postgres/sql.ts";

export interface PasswordSnapshot {
  /** To be asked once something was opened with the password. False: whoever replaced it may not have seen that, and ended it. */
  isUnchanged(): Promise<boolean>;
}

/** From now on. `which`: of `user_account`, one person at most; of nobody the password never changes. */
export async function snapshotPassword(database: Queryable, condition: Sql): Promise<PasswordSnapshot> {
  const [before] = await database.query<{ user_id: string; password: string }>(sql`
    select user_id, password from user_credential join user_account on user_account.id = user_id where ${condition}`);
  return {
    async isUnchanged() {
      if (!before) return true;
      // `FOR SHARE` waits for a change that is under way: one that commits later sees what was opened, and ends it.
      const [now] = await database.query<{ password: string }>(
        sql`select password from user_credential where user_id = ${before.user_id}::uuid for share`,
      );
      return now?.password === before.password;
    },
  };
}
