/** A mail's body that is sealed, for whoever has to know whether WAYMARK_SECRET opens it. */
import type { Queryable } from "../platform/postgres/database.ts";
import type { SealedValue } from "../platform/secret-box.ts";
import { raw } from "../platform/postgres/sql.ts";
import { mailSealContext } from "./mail.encryption.ts";

/** That of the mail that was written last, of those that were not sent, with what it is sealed for; null: there is none. */
export async function latestSealedBody(on: Queryable): Promise<SealedValue | null> {
  const [row] = await on.query<{ id: string; sealed: string }>(
    raw("select id, sealed_body as sealed from mail where sealed_body is not null order by id desc limit 1"),
  );
  return row ? { sealed: row.sealed, context: mailSealContext(row.id) } : null;
}
