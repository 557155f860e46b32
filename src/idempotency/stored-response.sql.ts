/** Stored responses of keyed requests. */
import { invariant } from "../core/errors.ts";
import type { Queryable } from "../core/postgres/database.ts";
import { sql } from "../core/postgres/sql.ts";
import { toIsoTime } from "../core/time.ts";

export interface KeyedRequest {
  organizationId: string;
  route: string;
  /** The client's Idempotency-Key, unique per organisation and route. */
  key: string;
  /** Typed. */
  requestId: string;
  /** SHA-256 of everything that makes the request the same. */
  fingerprint: Buffer;
}

export interface StoredResponse {
  data: unknown;
  headers?: Record<string, string>;
}

export interface FirstRequest {
  /** False if it was a different one. */
  isSame: boolean;
  requestId: string;
  /** ISO 8601. */
  at: string;
  response: StoredResponse;
}

/** Null without an unexpired record. */
export async function findResponse(
  queryable: Queryable,
  { organizationId, route, key, fingerprint }: KeyedRequest,
): Promise<FirstRequest | null> {
  const [row] = await queryable.query<{ same: boolean; at: string; answer: string }>(sql`
    select fingerprint = ${fingerprint} as same, expires_at - interval '24 hours' as at, answer from idempotency_record
    where organization_id = ${organizationId} and route = ${route} and key = ${key} and expires_at > now()`);
  if (!row) return null;
  const { requestId, ...response } = JSON.parse(row.answer) as StoredResponse & { requestId: string };
  return { isSame: row.same, requestId, at: toIsoTime(row.at), response };
}

/** Replaces an expired record, if there is one. */
export async function storeResponse(
  tx: Queryable,
  { organizationId, route, key, requestId, fingerprint }: KeyedRequest,
  { data, headers }: StoredResponse,
): Promise<void> {
  const answer = JSON.stringify({ requestId, data, headers });
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
