/**
 * Reads of a sign-in that wait for a change that is not committed yet. Without an open transaction `for share` keeps no lock, and
 * costs one round trip; MikroORM locks only in transactions, whose locks could deadlock with a password change.
 */
import type { Queryable } from "../../core/postgres/database.ts";
import { sql } from "../../core/postgres/sql.ts";

/** Returns the user's password hash once no change of it is in progress. */
export async function selectSettledPassword(
  database: Queryable,
  userId: string,
): Promise<string | undefined> {
  const [row] = await database.query<{ password: string }>(
    sql`select password from user_credential where user_id = ${userId}::uuid for share`,
  );
  return row?.password;
}

export interface SignInRow {
  organization_id: string | null;
  suspended: boolean;
  two_factor_enabled: boolean;
  email: string;
  browser_epoch: string;
}

/** Returns the user. Waits for a suspension that is not committed yet: it might have missed the session just created. */
export async function selectSettledUser(database: Queryable, userId: string): Promise<SignInRow | undefined> {
  const [row] = await database.query<SignInRow>(sql`
    select organization_id, two_factor_enabled, email, browser_epoch, coalesce((select suspended_at is not null from organization
      where organization.id = organization_id for share), false) as suspended
    from user_account join user_credential on user_id = user_account.id
    where user_account.id = ${userId}::uuid`);
  return row;
}
