/** The statements of requests with an API key. Each poll runs one, and each request whose key is not cached another. */
import type { Queryable } from "../core/postgres/database.ts";
import type { OrganizationType } from "../core/principal.ts";
import { sql } from "../core/postgres/sql.ts";
import type { RateLimitOverrides } from "../rate-limits/api.ts";
import type { Scope } from "./entity.ts";

export interface KeyRow {
  id: string;
  secret_hash: Buffer;
  organization_id: string | null;
  organization_name: string | null;
  organization_type: OrganizationType | null;
  live_organization_id: string | null;
  time_zone: string | null;
  scopes: Scope[];
  cidrs: string[] | null;
  rate_limits: RateLimitOverrides | null;
  rate_bucket: string | null;
  expires_at: string | null;
  suspended: boolean;
}

/** Returns the unrevoked key with this prefix, or undefined. */
export async function selectKey(database: Queryable, prefix: string): Promise<KeyRow | undefined> {
  const [row] = await database.query<KeyRow>(sql`
    select api_key.id, secret_hash, organization_id, organization.name as organization_name, organization.type as organization_type, live_organization_id, time_zone, scopes, cidrs, rate_limits,
      rate_bucket, expires_at, suspended_at is not null as suspended
    from api_key left join organization on organization.id = organization_id
    where prefix = ${prefix} and revoked_at is null`);
  return row;
}

export async function selectAccessRevision(database: Queryable): Promise<number | null> {
  const [row] = await database.query<{ revision: number }>(sql`select revision from access_revision`);
  return row?.revision ?? null;
}

/** Returns the prefixes of keys changed after `revision`, at most `limit`. */
export async function selectChangedPrefixes(
  database: Queryable,
  revision: number,
  limit: number,
): Promise<string[]> {
  const rows = await database.query<{ prefix: string }>(
    sql`select prefix from api_key where access_revision > ${revision}::int limit ${limit}::int`,
  );
  return rows.map(({ prefix }) => prefix);
}

/** Saves when keys were last used (milliseconds by key id), unless a use within the minute before is already saved. */
export async function updateLastUsed(
  database: Queryable,
  uses: readonly (readonly [id: string, ms: number])[],
): Promise<void> {
  await database.query(sql`
    update api_key set last_used_at = used.at::timestamptz
    from unnest(${uses.map(([id]) => id)}::uuid[],
      ${uses.map(([, ms]) => new Date(ms).toISOString())}::text[]) used (id, at)
    where api_key.id = used.id
      and (last_used_at is null or last_used_at <= used.at::timestamptz - interval '1 minute')`);
}
