/** Batch look-ups of jobs and organisations. Results follow the order of the keys, with null for what is not visible. */
import type { Queryable } from "../../platform/postgres/database.ts";
import { alignByKey } from "../../platform/postgres/align-by-key.ts";
import type { Principal } from "../../platform/principal.ts";
import { raw, sql, type Sql } from "../../platform/postgres/sql.ts";
import {
  jobJoinColumns,
  toJobWithOrganizations,
  type JobJoinRow,
  type OrganizationRow,
  type JobWithOrganizations,
} from "../job.row.ts";
import { visibleTo } from "../job.visibility.ts";

export async function findJobsByMarkingNumber(
  queryable: Queryable,
  principal: Principal,
  markingNumbers: readonly string[],
): Promise<(JobWithOrganizations | null)[]> {
  // PostgreSQL rejects such text, and no job can have it.
  const valid = markingNumbers.filter((number) => number.isWellFormed() && !number.includes("\0"));
  const rows = await selectJobs(queryable, principal, valid, sql`job.marking_number = any(${valid}::text[])`);
  return alignByKey(markingNumbers, rows, (job) => job.marking_number);
}

/** `ids` are UUIDs. */
export async function findJobsById(
  queryable: Queryable,
  principal: Principal,
  ids: readonly string[],
): Promise<(JobWithOrganizations | null)[]> {
  const rows = await selectJobs(queryable, principal, ids, sql`job.id = any(${ids}::uuid[])`);
  return alignByKey(ids, rows, (job) => job.id);
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

async function selectJobs(
  queryable: Queryable,
  principal: Principal,
  requested: readonly string[],
  condition: Sql,
): Promise<JobWithOrganizations[]> {
  if (requested.length === 0) return [];
  const { columns, joins } = jobJoinColumns(true);
  const rows = await queryable.query<JobJoinRow>(sql`
    select ${columns} from job ${joins} where ${condition} and ${visibleTo(principal)}`);
  return rows.map(toJobWithOrganizations);
}
