/** Finds an encrypted mail body, to check that WAYMARK_SECRET can open it. */
import type { Queryable } from "../platform/postgres/database.ts";
import type { SealedValue } from "../platform/secret-box.ts";
import { raw } from "../platform/postgres/sql.ts";
import { mailSealContext } from "./mail.encryption.ts";

/** The body of the latest mail that still has one, and its context; null if there is none. */
export async function latestSealedBody(on: Queryable): Promise<SealedValue | null> {
  const [row] = await on.query<{ id: string; sealed: string }>(
    raw("select id, sealed_body as sealed from mail where sealed_body is not null order by id desc limit 1"),
  );
  return row ? { sealed: row.sealed, context: mailSealContext(row.id) } : null;
}
