/** Checks whether WAYMARK_SECRET can decrypt the secrets and headers of endpoints. */
import type { Queryable } from "../../core/postgres/database.ts";
import { toTypedId } from "../../core/ids.ts";
import { canOpen, type SecretBox } from "../../core/secret-box.ts";
import { raw } from "../../core/postgres/sql.ts";
import { sealContext } from "./secrets.ts";

/** Typed ids of endpoints that cannot receive deliveries until they are repaired. An endpoint can be in both lists. */
export interface UnreadableEndpoints {
  /** Endpoints with an active secret that cannot be decrypted. */
  readonly secrets: string[];
  /** Endpoints whose custom headers cannot be decrypted. */
  readonly headers: string[];
}

interface SealedRow {
  id: string;
  secrets: string[];
  headers: string | null;
}

/** The endpoints whose secrets or headers `secretBox` cannot decrypt. */
export async function unreadableEndpoints(
  database: Queryable,
  secretBox: Pick<SecretBox, "open">,
): Promise<UnreadableEndpoints> {
  const rows = await database.query<SealedRow>(
    raw(`
    select id, sealed_headers as headers, array(
      select secret ->> 'sealed' from jsonb_array_elements(secrets) secret
      where secret ->> 'expires_at' is null or (secret ->> 'expires_at')::timestamptz > now()) as secrets
    from webhook_endpoint where deleted_at is null order by id`),
  );
  const isReadable = (id: string, sealed: string): boolean =>
    canOpen(secretBox, { sealed, context: sealContext(id) });
  const idsWhere = (isUnreadable: (row: SealedRow) => boolean) =>
    rows.filter(isUnreadable).map(({ id }) => toTypedId("whe", id));
  return {
    secrets: idsWhere(({ id, secrets }) => !secrets.every((sealed) => isReadable(id, sealed))),
    headers: idsWhere(({ id, headers }) => headers !== null && !isReadable(id, headers)),
  };
}
