/** What is sealed of endpoints, for whoever has to know whether WAYMARK_SECRET opens it. */
import type { Queryable } from "../../platform/postgres/database.ts";
import { toTypedId } from "../../platform/ids.ts";
import { canOpen, type SealedValue, type SecretBox } from "../../platform/secret-box.ts";
import { raw } from "../../platform/postgres/sql.ts";
import { sealContext } from "./secrets.ts";

/** The secret that was made last, with what it is sealed for; null: there is none. */
export async function latestSealedSecret(on: Queryable): Promise<SealedValue | null> {
  const [row] = await on.query<{ id: string; sealed: string }>(
    raw(`
    select id, secrets -> 0 ->> 'sealed' as sealed from webhook_endpoint
    where deleted_at is null order by secrets -> 0 ->> 'created_at' desc limit 1`),
  );
  return row ? { sealed: row.sealed, context: sealContext(row.id) } : null;
}

/** Typed ids: nothing is sent to either until they are mended. One endpoint may be in both. */
export interface UnreadableEndpoints {
  /** Those of which a secret that signs is not opened. */
  readonly secrets: string[];
  /** Those of which the custom headers are not opened. */
  readonly headers: string[];
}

interface SealedRow {
  id: string;
  secrets: string[];
  headers: string | null;
}

/** The endpoints of which `box` does not open everything. */
export async function unreadableEndpoints(
  on: Queryable,
  secretBox: Pick<SecretBox, "open">,
): Promise<UnreadableEndpoints> {
  const rows = await on.query<SealedRow>(
    raw(`
    select id, sealed_headers as headers, array(
      select secret ->> 'sealed' from jsonb_array_elements(secrets) secret
      where secret ->> 'expires_at' is null or (secret ->> 'expires_at')::timestamptz > now()) as secrets
    from webhook_endpoint where deleted_at is null order by id`),
  );
  const opens = (id: string, sealed: string): boolean =>
    canOpen(secretBox, { sealed, context: sealContext(id) });
  const idsWhere = (isUnreadable: (row: SealedRow) => boolean) =>
    rows.filter(isUnreadable).map(({ id }) => toTypedId("whe", id));
  return {
    secrets: idsWhere(({ id, secrets }) => !secrets.every((sealed) => opens(id, sealed))),
    headers: idsWhere(({ id, headers }) => headers !== null && !opens(id, headers)),
  };
}
