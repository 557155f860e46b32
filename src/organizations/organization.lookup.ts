/** Reading organisations as rows. */
import type { Queryable } from "../platform/database.ts";
import type { OrganizationType } from "../platform/principal.ts";
import { sql } from "../platform/sql.ts";

/** All of them, by name: for operators. */
export function listOrganizations(
  database: Queryable,
): Promise<{ id: string; name: string; type: OrganizationType }[]> {
  return database.query(sql`select id, name, type from organization order by name`);
}
