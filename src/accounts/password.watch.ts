/** Whether a password was replaced while somebody signed in with the old one: comparing it takes a while, and waits for its turn. */
import type { Queryable } from "../platform/database.ts";
import { sql, type Sql } from "../platform/sql.ts";

export interface PasswordWatch {
  /** To be asked once something was opened with the password. False: whoever replaced it may not have seen that, and ended it. */
  isUnchanged(): Promise<boolean>;
}

/** From now on. `which`: of `user_account`, one person at most; of nobody the password never changes. */
export async function watchPassword(database: Queryable, which: Sql): Promise<PasswordWatch> {
  const [before] = await database.query<{ user_id: string; password: string }>(sql`
    select user_id, password from user_credential join user_account on user_account.id = user_id where ${which}`);
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
