/** The sealed secrets of endpoints, for whoever has to know whether WAYMARK_SECRET opens them. */
import type { Queryable } from "../platform/database.ts";
import { toTypedId } from "../platform/ids.ts";
import type { SecretBox } from "../platform/secret-box.ts";
import { raw } from "../platform/sql.ts";
import { sealedFor } from "./endpoint.secrets.ts";

interface Row {
  id: string;
  sealed: string;
}

/** The secret that was made last, with what it is sealed for; null: there is none. */
export async function newestSealed(on: Queryable): Promise<{ sealed: string; context: string } | null> {
  const [row] = await on.query<Row>(
    raw(`
    select id, secrets -> 0 ->> 'sealed' as sealed from webhook_endpoint
    where deleted_at is null order by secrets -> 0 ->> 'created_at' desc limit 1`),
  );
  return row ? { sealed: row.sealed, context: sealedFor(row.id) } : null;
}

/** The typed ids of the endpoints whose secret `box` does not open, so that nothing can be signed for them. */
export async function unreadableEndpoints(on: Queryable, box: Pick<SecretBox, "open">): Promise<string[]> {
  const rows = await on.query<Row>(
    raw(
      "select id, secrets -> 0 ->> 'sealed' as sealed from webhook_endpoint where deleted_at is null order by id",
    ),
  );
  return rows.filter((row) => !opens(box, row)).map(({ id }) => toTypedId("whe", id));
}

function opens(box: Pick<SecretBox, "open">, { id, sealed }: Row): boolean {
  try {
    box.open(sealed, sealedFor(id));
    return true;
  } catch {
    return false;
  }
}
