/** Reading organisations as rows. */
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
  /** Part of the name, whatever its case; null: any. */
  search: string | null;
  limit: number;
  /** The uuid after whose organisation the page begins; null: at the beginning. */
  after: string | null;
  include: { items: boolean; total: boolean };
}

export interface OrganizationPage {
  items: OrganizationRow[];
  hasMore: boolean;
  /** All that match; null where that was not asked for. */
  total: number | null;
}

/** One page of all of them, by name: for operators. */
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
  // The name itself could be longer than a cursor may be.
  if (after !== null) conditions.push(sql`name > (select name from organization where id = ${after}::uuid)`);
  return sql`select id, name, type from organization where ${join(conditions, " and ")}
    order by name limit ${limit + 1}`;
}

const CURSOR = "organizations";

/** An organisation's place in the list. */
export function organizationCursor({ id }: Pick<OrganizationRow, "id">): string {
  return encodeCursor(CURSOR, [id]);
}

/** The uuid of the organisation at that place; null where `text` is no cursor of the list. */
export function readOrganizationCursor(text: string): string | null {
  return decodeIdCursor(CURSOR, text);
}

export interface OrganizationStatus {
  id: string;
  created_at: string;
  suspended_at: string | null;
}

/** How those of `ids` (uuids) stand, in no particular order. Whoever asks may know it. */
export function organizationStatuses(
  database: Queryable,
  ids: readonly string[],
): Promise<OrganizationStatus[]> {
  return database.query(
    sql`select id, created_at, suspended_at from organization where id = any(${ids}::uuid[])`,
  );
}
