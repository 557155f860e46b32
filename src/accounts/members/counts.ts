/** Counts members of organisations. */
import type { Queryable } from "../../platform/postgres/database.ts";
import { sql } from "../../platform/postgres/sql.ts";

/** Returns the counts by organisation (uuids). Organisations without members are missing from the map. */
export async function countMembersByOrganization(
  database: Queryable,
  organizationIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await database.query<{ organization_id: string; members: number }>(sql`
    select organization_id, count(*)::int as members from user_account
    where organization_id = any(${organizationIds}::uuid[]) group by organization_id`);
  return new Map(rows.map((row) => [row.organization_id, row.members]));
}
