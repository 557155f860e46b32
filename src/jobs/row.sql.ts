/** Job rows as PostgreSQL returns them, with times and dates as text, and the column lists that select them. */
import type { OrganizationType } from "../core/principal.ts";
import { raw, sql, type Sql } from "../core/postgres/sql.ts";
import { jobFieldNames, type JobPatch } from "./fields.ts";

export type JobRow = Required<{ [Name in keyof JobPatch]: Exclude<JobPatch[Name], undefined> }> & {
  readonly id: string;
  readonly marking_number: string;
  readonly agent_id: string;
  readonly contractor_id: string | null;
  readonly provider_status: string | null;
  readonly version: number;
  /** PostgreSQL's text form of a timestamptz in UTC, such as `2026-11-21 12:50:43.123+00`. */
  readonly created_at: string;
  readonly updated_at: string;
};

const columnNames = [
  "id",
  "marking_number",
  "agent_id",
  "contractor_id",
  ...jobFieldNames,
  "provider_status",
  "version",
  "created_at",
  "updated_at",
];

/** The columns of a `JobRow`, each prefixed with `prefix`, such as `job.`. */
export function jobColumns(prefix: string): Sql {
  return raw(columnNames.map((name) => prefix + name).join(", "));
}

export interface OrganizationRow {
  readonly id: string;
  readonly name: string;
  readonly type: OrganizationType;
}

/** A job with its organisations if the query included them. */
export type JobWithOrganizations = JobRow & {
  agent?: OrganizationRow;
  contractor?: OrganizationRow | null;
};

/** The flat row that `jobJoinColumns` selects. */
export type JobJoinRow = JobRow & {
  readonly agent_name?: string;
  readonly agent_type?: OrganizationType;
  readonly contractor_name?: string | null;
  readonly contractor_type?: OrganizationType | null;
};

/** The columns of a `JobJoinRow` and the joins they need, for a query from `job`. */
export function jobJoinColumns(organizations: boolean): { columns: Sql; joins: Sql } {
  const columns = jobColumns("job.");
  if (!organizations) return { columns, joins: raw("") };
  return {
    columns: sql`${columns}, agent.name as agent_name, agent.type as agent_type,
      contractor.name as contractor_name, contractor.type as contractor_type`,
    joins: raw(
      "left join organization agent on agent.id = job.agent_id left join organization contractor on contractor.id = job.contractor_id",
    ),
  };
}

export function toJob(row: JobJoinRow): JobWithOrganizations {
  const { agent_id, agent_name, agent_type, contractor_id, contractor_name, contractor_type } = row;
  if (!agent_name || !agent_type) return row;
  const contractor =
    contractor_id && contractor_name && contractor_type
      ? { id: contractor_id, name: contractor_name, type: contractor_type }
      : null;
  // Nothing else uses the row, so extending it is cheaper than copying it.
  return Object.assign(row, { agent: { id: agent_id, name: agent_name, type: agent_type }, contractor });
}
