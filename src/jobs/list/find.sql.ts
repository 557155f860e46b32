/** Look-ups of jobs and organisations by key. Lists follow the order of the keys, with null for what is not visible. */
import type { Queryable } from "../../core/postgres/database.ts";
import { alignByKey } from "../../core/postgres/align-by-key.ts";
import type { Principal } from "../../core/principal.ts";
import { raw, sql, type Sql } from "../../core/postgres/sql.ts";
import {
  jobJoinColumns,
  toJob,
  type JobJoinRow,
  type JobRow,
  type JobWithOrganizations,
  type OrganizationRow,
} from "../row.sql.ts";
import { visibleTo } from "../visibility.sql.ts";

/** The job with this Marking Number, without its organisations; null if it is not visible. */
export async function findJob(
  queryable: Queryable,
  principal: Principal,
  markingNumber: string,
): Promise<JobRow | null> {
  const condition = sql`job.marking_number = ${markingNumber}`;
  const [job] = await selectJobs(queryable, principal, { condition, organizations: false });
  return job ?? null;
}

/** Numbers that PostgreSQL cannot read match no job. Without `organizations` each job has only the ids of its organisations. */
export async function findJobsByMarkingNumber(
  queryable: Queryable,
  principal: Principal,
  markingNumbers: readonly string[],
  { organizations } = { organizations: true },
): Promise<(JobWithOrganizations | null)[]> {
  const valid = markingNumbers.filter((number) => number.isWellFormed() && !number.includes("\0"));
  const condition = sql`job.marking_number = any(${valid}::text[])`;
  const rows = valid.length === 0 ? [] : await selectJobs(queryable, principal, { condition, organizations });
  return alignByKey(markingNumbers, rows, (job) => job.marking_number);
}

/** With their organisations. `ids` are UUIDs. */
export async function findJobsById(
  queryable: Queryable,
  principal: Principal,
  ids: readonly string[],
): Promise<(JobWithOrganizations | null)[]> {
  if (ids.length === 0) return [];
  const condition = sql`job.id = any(${ids}::uuid[])`;
  const rows = await selectJobs(queryable, principal, { condition, organizations: true });
  return alignByKey(ids, rows, (job) => job.id);
}

async function selectJobs(
  queryable: Queryable,
  principal: Principal,
  { condition, organizations }: { condition: Sql; organizations: boolean },
): Promise<JobWithOrganizations[]> {
  const { columns, joins } = jobJoinColumns(organizations);
  const rows = await queryable.query<JobJoinRow>(sql`
    select ${columns} from job ${joins} where ${condition} and ${visibleTo(principal)}`);
  return rows.map(toJob);
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
    where organization.id = any(${ids}::uuid[]) and ${organizationVisibleTo(principal)}`);
  return alignByKey(ids, rows, (organization) => organization.id);
}

function organizationVisibleTo(principal: Principal): Sql {
  if (principal.organizationId === null) return raw("true");
  const other = raw(principal.organizationType === "agent" ? "job.contractor_id" : "job.agent_id");
  return sql`(organization.id = ${principal.organizationId}::uuid
    or exists (select from job where ${visibleTo(principal)} and ${other} = organization.id))`;
}
