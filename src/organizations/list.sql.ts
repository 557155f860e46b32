/** Lists organisations by name. */
import { idCursor } from "../core/cursor.ts";
import { invalidArgument } from "../core/errors.ts";
import type { Queryable } from "../core/postgres/database.ts";
import type { Page, PageRequest } from "../core/postgres/list-page.ts";
import { raw, sql } from "../core/postgres/sql.ts";
import type { Organization } from "./entity.ts";

type OrganizationRow = Pick<Organization, "id" | "name" | "type">;

const LIVE = raw("live_organization_id is null");

export interface OrganizationListOptions extends PageRequest {
  /** A part of the name, case-insensitive; null: any name. */
  search: string | null;
  include: { items: boolean; total: boolean };
}

/**
 * Returns one page of all live organisations, ordered by name, and the number of matching organisations; null without
 * `include.total`. For operators. Throws BadRequestException for a search text that PostgreSQL cannot compare.
 */
export async function listOrganizations(
  database: Queryable,
  { search, limit, after, include }: OrganizationListOptions,
): Promise<Page<OrganizationRow> & { total: number | null }> {
  if (search !== null && (search.includes("\0") || !search.isWellFormed()))
    throw invalidArgument("search", "must not contain U+0000 or a lone surrogate");
  const matching = search === null ? LIVE : sql`${LIVE} and strpos(lower(name), lower(${search})) > 0`;
  // Looked up by id, as a name can be longer than a cursor may be.
  const isAfter =
    after === null ? raw("true") : sql`name > (select name from organization where id = ${after}::uuid)`;
  const page = sql`select id, name, type from organization where ${matching} and ${isAfter} order by name limit ${limit + 1}`;
  const [items, total] = await Promise.all([
    include.items ? database.query<OrganizationRow>(page) : [],
    include.total
      ? database.query<{ total: number }>(
          sql`select count(*)::int as total from organization where ${matching}`,
        )
      : null,
  ]);
  return { items: items.slice(0, limit), hasMore: items.length > limit, total: total?.[0]?.total ?? null };
}

export const organizationCursor = idCursor("organizations");
