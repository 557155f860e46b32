/** Jobs and organisations by what names them, many at once, in the order asked; null in the place of what is not visible. */
import type { Queryable } from "../platform/database.ts";
import { inOrder } from "../platform/in-order.ts";
import type { Viewer } from "../platform/principal.ts";
import { raw, sql, type Sql } from "../platform/sql.ts";
import {
  readJobColumns,
  toReadJobRow,
  type FlatJobRow,
  type OrganizationRow,
  type ReadJobRow,
} from "./job.row.ts";
import { visibleTo } from "./job.visibility.ts";

export async function jobsByMarkingNumber(
  queryable: Queryable,
  viewer: Viewer,
  numbers: readonly string[],
): Promise<(ReadJobRow | null)[]> {
  // PostgreSQL refuses text that is none; no job has it.
  const sound = numbers.filter((number) => number.isWellFormed() && !number.includes("\0"));
  const found = await jobsWhere(queryable, viewer, sound, sql`job.marking_number = any(${sound}::text[])`);
  return inOrder(numbers, found, (job) => job.marking_number);
}

/** `ids` are uuids. */
export async function jobsById(
  queryable: Queryable,
  viewer: Viewer,
  ids: readonly string[],
): Promise<(ReadJobRow | null)[]> {
  const found = await jobsWhere(queryable, viewer, ids, sql`job.id = any(${ids}::uuid[])`);
  return inOrder(ids, found, (job) => job.id);
}

/** Visible organisations: one's own and those with which one has a job in common; operators see all. `ids` are uuids. */
export async function organizationsById(
  queryable: Queryable,
  viewer: Viewer,
  ids: readonly string[],
): Promise<(OrganizationRow | null)[]> {
  if (ids.length === 0) return [];
  const found = await queryable.query<OrganizationRow>(sql`
    select organization.id, organization.name, organization.type from organization
    where organization.id = any(${ids}::uuid[]) and ${isKnownTo(viewer)}`);
  return inOrder(ids, found, (organization) => organization.id);
}

function isKnownTo(viewer: Viewer): Sql {
  if (viewer.organizationId === null) return raw("true");
  const other = raw(viewer.organizationType === "agent" ? "job.contractor_id" : "job.agent_id");
  return sql`(organization.id = ${viewer.organizationId}::uuid
    or exists (select from job where ${visibleTo(viewer)} and ${other} = organization.id))`;
}

async function jobsWhere(
  queryable: Queryable,
  viewer: Viewer,
  asked: readonly string[],
  condition: Sql,
): Promise<ReadJobRow[]> {
  if (asked.length === 0) return [];
  const { columns, joins } = readJobColumns(true);
  const rows = await queryable.query<FlatJobRow>(sql`
    select ${columns} from job ${joins} where ${condition} and ${visibleTo(viewer)}`);
  return rows.map(toReadJobRow);
}
