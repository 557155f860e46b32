/** Who has a second factor. */
import type { Queryable } from "../platform/database.ts";
import { raw } from "../platform/sql.ts";

/** Their addresses, in order. */
export async function peopleWithSecondFactor(on: Queryable): Promise<string[]> {
  const rows = await on.query<{ email: string }>(
    raw("select email from user_account where two_factor_enabled order by email"),
  );
  return rows.map(({ email }) => email);
}
