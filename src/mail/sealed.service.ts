/** A mail's body that is sealed, for whoever has to know whether WAYMARK_SECRET opens it. */
import type { Queryable } from "../platform/database.ts";
import type { Sealed } from "../platform/secret-box.ts";
import { raw } from "../platform/sql.ts";
import { contextOf } from "./mail.body.ts";

/** That of the mail that was written last, of those that were not sent, with what it is sealed for; null: there is none. */
export async function newestSealedBody(on: Queryable): Promise<Sealed | null> {
  const [row] = await on.query<{ id: string; sealed: string }>(
    raw("select id, sealed_body as sealed from mail where sealed_body is not null order by id desc limit 1"),
  );
  return row ? { sealed: row.sealed, context: contextOf(row.id) } : null;
}
