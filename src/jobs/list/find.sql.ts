/** Look-ups of jobs and organisations by key. Lists follow the order of the keys, with null for what is not visible. */
import type { Queryable } from "../../core/postgres/database.ts";
import { alignByKey } from "../../core/postgres/align-by-key.ts";
import type { Principal } from "../../core/principal.ts";
import { raw, sql, type Sql } from "../../core/postgres/sql.ts";
import { withOrganizationNames } from "../organization-names.sql.ts";
import { jobColumns, type JobRow, type OrganizationRow } from "../row.sql.ts";
import { visibleTo } from "../visibility.sql.ts";

/** The job with this Marking Number; null if it is not visible. */
export async function findJob(
  queryable: Queryable,
  principal: Principal,
  markingNumber: string,
): Promise<JobRow | null> {
  const [job] = await selectJobs(queryable, principal, sql`job.marking_number = ${markingNumber}`);
  return job ?? null;
}

/** Numbers that PostgreSQL cannot read match no job. */
export async function findJobsByMarkingNumber(
  queryable: Queryable,
  principal: Principal,
  markingNumbers: readonly string[],
): Promise<(JobRow | null)[]> {
  const valid = markingNumbers.filter((number) => number.isWellFormed() && !number.includes("\0"));
  const condition = isOneOf(raw("job.marking_number"), valid, "text");
  const rows = valid.length === 0 ? [] : await selectJobs(queryable, principal, condition);
  return alignByKey(markingNumbers, rows, (job) => job.marking_number);
}

/** `ids` are UUIDs. */
export async function findJobsById(
  queryable: Queryable,
  principal: Principal,
  ids: readonly string[],
): Promise<(JobRow | null)[]> {
  if (ids.length === 0) return [];
  const rows = await selectJobs(queryable, principal, isOneOf(raw("job.id"), ids, "uuid"));
  return alignByKey(ids, rows, (job) => job.id);
}

async function selectJobs(queryable: Queryable, principal: Principal, condition: Sql): Promise<JobRow[]> {
  const rows = await queryable.query<JobRow>(sql`
    select ${jobColumns("job.")} from job where ${condition} and ${visibleTo(principal)}`);
  return await withOrganizationNames(queryable, rows);
}

/** For an array PostgreSQL plans each execution again, which takes longer than finding one row. */
function isOneOf(column: Sql, keys: readonly string[], type: "text" | "uuid"): Sql {
  return keys.length === 1
    ? sql`${column} = ${keys[0]}::${raw(type)}`
    : sql`${column} = any(${keys}::${raw(type)}[])`;
}

/** Partners see their own organisation and those they share a job with; operators see all. `ids` are UUIDs. */
export async function findOrganizationsById(
  queryable: Queryable,
  principal: Principal,
  ids: readonly string[],
): Promise<(OrganizationRow | null)[]> {
  if (ids.length === 0) return [];
  const rows = await queryable.query<OrganizationRow>(sql`
    select organization.id, organization.name, organization.type from organization
    where ${isOneOf(raw("organization.id"), ids, "uuid")} and ${organizationVisibleTo(principal)}`);
  return alignByKey(ids, rows, (organization) => organization.id);
}

function organizationVisibleTo(principal: Principal): Sql {
  if (principal.organizationId === null) return raw("true");
  const other = raw(principal.organizationType === "agent" ? "job.contractor_id" : "job.agent_id");
  return sql`(organization.id = ${principal.organizationId}::uuid
    or exists (select from job where ${visibleTo(principal)} and ${other} = organization.id))`;
}
