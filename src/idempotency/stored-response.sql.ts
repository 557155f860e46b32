/** Stored responses of keyed requests. */
import { invariant } from "../core/errors.ts";
import type { Queryable } from "../core/postgres/database.ts";
import { sql } from "../core/postgres/sql.ts";

export interface KeyedRequest {
  organizationId: string;
  route: string;
  /** The client's Idempotency-Key, unique per organisation and route. */
  key: string;
  /** SHA-256 of everything that makes the request the same. */
  fingerprint: Buffer;
}

export interface StoredResponse {
  data: unknown;
  headers?: Record<string, string>;
}

/** `isSame` is false if the key was used for a different request. Null without an unexpired record. */
export async function findResponse(
  queryable: Queryable,
  { organizationId, route, key, fingerprint }: KeyedRequest,
): Promise<{ isSame: boolean; response: StoredResponse } | null> {
  const [row] = await queryable.query<{ same: boolean; answer: string }>(sql`
    select fingerprint = ${fingerprint} as same, answer from idempotency_record
    where organization_id = ${organizationId} and route = ${route} and key = ${key} and expires_at > now()`);
  return row ? { isSame: row.same, response: JSON.parse(row.answer) as StoredResponse } : null;
}

/** Replaces an expired record, if there is one. */
export async function storeResponse(
  tx: Queryable,
  { organizationId, route, key, fingerprint }: KeyedRequest,
  { data, headers }: StoredResponse,
): Promise<void> {
  const answer = JSON.stringify({ data, headers });
  const rows = await tx.query(sql`
    insert into idempotency_record as record (organization_id, route, key, fingerprint, answer, bytes, expires_at)
    values (${organizationId}, ${route}, ${key}, ${fingerprint}, ${answer}, ${Buffer.byteLength(answer)},
      now() + interval '24 hours')
    on conflict (organization_id, route, key) do update set
      fingerprint = excluded.fingerprint, answer = excluded.answer, bytes = excluded.bytes, expires_at = excluded.expires_at
    where record.expires_at <= now()
    returning 1`);
  invariant(rows.length === 1, "the lock is held, so there is only an expired record");
}
