/** The statements of requests with an API key. Each poll runs one, and each request whose key is not cached another. */
import type { Queryable } from "../core/postgres/database.ts";
import type { OrganizationType } from "../core/principal.ts";
import { sql } from "../core/postgres/sql.ts";
import type { RateLimitOverrides } from "../rate-limits/api.ts";
import type { Scope } from "./entity.ts";

export interface KeyRow {
  keyId: string;
  rateBucket: string;
  scopes: Scope[];
  rateLimits: RateLimitOverrides | null;
  /** Null for an operator's key, with the other columns of the organisation. */
  organizationId: string | null;
  organizationName: string | null;
  organizationType: OrganizationType | null;
  liveOrganizationId: string | null;
  timeZone: string | null;
  secretHash: Buffer;
  cidrs: string[] | null;
  expiresAt: string | null;
  suspended: boolean;
}

/** Returns the unrevoked key with this prefix, or undefined. */
export async function selectKey(database: Queryable, prefix: string): Promise<KeyRow | undefined> {
  const [row] = await database.query<KeyRow>(sql`
    select api_key.id as "keyId", coalesce(rate_bucket, api_key.id) as "rateBucket", scopes, rate_limits as "rateLimits",
      organization_id as "organizationId", organization.name as "organizationName", organization.type as "organizationType",
      live_organization_id as "liveOrganizationId", time_zone as "timeZone", secret_hash as "secretHash", cidrs,
      expires_at as "expiresAt", suspended_at is not null as suspended
    from api_key left join organization on organization.id = organization_id
    where prefix = ${prefix} and revoked_at is null`);
  return row;
}

export async function selectAccessRevision(database: Queryable): Promise<number | null> {
  const [row] = await database.query<{ revision: number }>(sql`select revision from access_revision`);
  return row?.revision ?? null;
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
