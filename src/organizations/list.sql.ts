/** Lists organisations by name. */
import { idCursor } from "../core/cursor.ts";
import { invalidArgument } from "../core/errors.ts";
import type { Queryable } from "../core/postgres/database.ts";
import type { Page, PageRequest } from "../core/postgres/list-page.ts";
import { join, raw, sql, type Sql } from "../core/postgres/sql.ts";
import type { Organization } from "./entity.ts";

type OrganizationRow = Pick<Organization, "id" | "name" | "type">;

const MAX_SEARCH = 255;
const LIVE = raw("live_organization_id is null");

export interface OrganizationListOptions extends PageRequest {
  /** A part of the name, case-insensitive; null: any name. */
  search: string | null;
  include: { items: boolean; total: boolean };
}

/**
 * Returns one page of all live organisations, ordered by name, and the number of matching organisations; null without
 * `include.total`. For operators. Throws BadRequestException for a search text that is too long or not Unicode.
 */
export async function listOrganizations(
  database: Queryable,
  { search, limit, after, include }: OrganizationListOptions,
): Promise<Page<OrganizationRow> & { total: number | null }> {
  if (search !== null && Array.from(search).length > MAX_SEARCH)
    throw invalidArgument("search", `must be at most ${MAX_SEARCH} characters`);
  if (search !== null && (search.includes("\0") || !search.isWellFormed()))
    throw invalidArgument("search", "must not contain U+0000 or a lone surrogate");
  const matching = search === null ? LIVE : sql`${LIVE} and strpos(lower(name), lower(${search})) > 0`;
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

export const organizationCursor = idCursor("organizations");
