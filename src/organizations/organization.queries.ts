/** Queries that list organisations. */
import { decodeIdCursor, encodeCursor } from "../platform/cursor.ts";
import type { Queryable } from "../platform/postgres/database.ts";
import type { OrganizationType } from "../platform/principal.ts";
import { join, raw, sql, type Sql } from "../platform/postgres/sql.ts";

export interface OrganizationRow {
  id: string;
  name: string;
  type: OrganizationType;
}

export interface OrganizationListOptions {
  /** A part of the name, case-insensitive; null: any name. */
  search: string | null;
  limit: number;
  /** Start after the organisation with this uuid; null: at the first. */
  after: string | null;
  include: { items: boolean; total: boolean };
}

export interface OrganizationPage {
  items: OrganizationRow[];
  hasMore: boolean;
  /** The number of matching organisations; null if `include.total` is false. */
  total: number | null;
}

/** Returns one page of all organisations, ordered by name. For operators. */
export async function listOrganizations(
  database: Queryable,
  { search, limit, after, include }: OrganizationListOptions,
): Promise<OrganizationPage> {
  const matching = search === null ? raw("true") : sql`strpos(lower(name), lower(${search})) > 0`;
  const [items, total] = await Promise.all([
    include.items ? database.query<OrganizationRow>(pageSql(matching, after, limit)) : [],
    include.total
      ? database.query<{ total: number }>(
          sql`select count(*)::int as total from organization where ${matching}`,
        )
      : null,
  ]);
  return { items: items.slice(0, limit), hasMore: items.length > limit, total: total?.[0]?.total ?? null };
}

function pageSql(matching: Sql, after: string | null, limit: number): Sql {
  const conditions = [matching];
  // Looked up by id, as a name can be longer than a cursor may be.
  if (after !== null) conditions.push(sql`name > (select name from organization where id = ${after}::uuid)`);
  return sql`select id, name, type from organization where ${join(conditions, " and ")}
    order by name limit ${limit + 1}`;
}

const CURSOR = "organizations";

/** The list cursor of an organisation. */
export function organizationCursor({ id }: Pick<OrganizationRow, "id">): string {
  return encodeCursor(CURSOR, [id]);
}

/** Returns the uuid of the organisation at the cursor, or null if `text` is not a cursor of this list. */
export function readOrganizationCursor(text: string): string | null {
  return decodeIdCursor(CURSOR, text);
}

export interface OrganizationStatus {
  id: string;
  created_at: string;
  suspended_at: string | null;
}

/** Returns the statuses of `ids` (uuids), in no particular order. The caller must check that the principal may see them. */
export function organizationStatuses(
  database: Queryable,
  ids: readonly string[],
): Promise<OrganizationStatus[]> {
  return database.query(
    sql`select id, created_at, suspended_at from organization where id = any(${ids}::uuid[])`,
  );
}
