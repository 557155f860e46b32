/** Reads keys as rows, limited to those that the principal may see. */
import type { Queryable } from "../platform/postgres/database.ts";
import type { OrganizationType, Principal } from "../platform/principal.ts";
import { sql, type Sql } from "../platform/postgres/sql.ts";
import { toIsoTime } from "../platform/time.ts";
import type { Scope } from "./api-key.entity.ts";

/** A key for display. An `ApiKey` with a loaded organisation fits this type. */
export interface KeyView {
  readonly id: string;
  readonly lookup: string;
  /** Null for an operator's key. */
  readonly organization?: { id: string; name: string; type: OrganizationType } | null | undefined;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly cidrs?: readonly string[] | null | undefined;
  readonly createdBy: string;
  readonly createdAt: Date;
  readonly expiresAt?: Date | null | undefined;
  readonly revokedAt?: Date | null | undefined;
  readonly lastUsedAt?: Date | null | undefined;
}

interface KeyRow {
  id: string;
  lookup: string;
  name: string;
  scopes: Scope[];
  cidrs: string[] | null;
  created_by: string;
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  last_used_at: string | null;
  organization_id: string | null;
  organization_name: string;
  organization_type: OrganizationType;
}

export const MAX_LISTED_KEYS = 1_000;

/**
 * Lists active keys and those that ended since `endedSince`, oldest first; at most MAX_LISTED_KEYS. If there are more, it
 * leaves out ended keys first, then the oldest.
 */
export async function listKeys(
  database: Queryable,
  principal: Principal,
  { now, endedSince }: { now: Date; endedSince: Date },
): Promise<KeyView[]> {
  const rows = await database.query<KeyRow>(sql`
    select * from (
      ${selectKeys} where ${tenantCondition(principal)}
        and least(key.revoked_at, key.expires_at, 'infinity') > ${endedSince}::timestamptz
      order by (least(key.revoked_at, key.expires_at, 'infinity') > ${now}::timestamptz) desc,
        key.created_at desc, key.id desc
      limit ${MAX_LISTED_KEYS}) listed
    order by created_at, id`);
  return rows.map(toKeyView);
}

/** Returns the keys of `ids` (uuids) that the principal may see, in no particular order. Includes ended keys. */
export async function keysByIds(
  database: Queryable,
  principal: Principal,
  ids: readonly string[],
): Promise<KeyView[]> {
  const rows = await database.query<KeyRow>(
    sql`${selectKeys} where key.id = any(${ids}::uuid[]) and ${tenantCondition(principal)}`,
  );
  return rows.map(toKeyView);
}

const selectKeys = sql`
  select key.id, key.lookup, key.name, key.scopes, key.cidrs, key.created_by, key.created_at, key.expires_at,
    key.revoked_at, key.last_used_at, key.organization_id, organization.name as organization_name,
    organization.type as organization_type
  from api_key key left join organization on organization.id = key.organization_id`;

function tenantCondition({ organizationId }: Principal): Sql {
  return organizationId === null ? sql`true` : sql`key.organization_id = ${organizationId}::uuid`;
}

function toKeyView(row: KeyRow): KeyView {
  return {
    id: row.id,
    lookup: row.lookup,
    organization:
      row.organization_id === null
        ? null
        : { id: row.organization_id, name: row.organization_name, type: row.organization_type },
    name: row.name,
    scopes: row.scopes,
    cidrs: row.cidrs,
    createdBy: row.created_by,
    createdAt: new Date(toIsoTime(row.created_at)),
    expiresAt: toDate(row.expires_at),
    revokedAt: toDate(row.revoked_at),
    lastUsedAt: toDate(row.last_used_at),
  };
}

function toDate(text: string | null): Date | null {
  return text === null ? null : new Date(toIsoTime(text));
}
