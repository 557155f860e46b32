/** Job rows as PostgreSQL returns them, with times and dates as text, and the column lists that select them. */
import type { OrganizationType } from "../core/principal.ts";
import { raw, type Sql } from "../core/postgres/sql.ts";
import { jobFieldNames, type JobPatch } from "./fields.ts";

export type JobRow = Required<{ [Name in keyof JobPatch]: Exclude<JobPatch[Name], undefined> }> & {
  readonly id: string;
  readonly marking_number: string;
  readonly agent_id: string;
  /** Absent in events of older versions of Waymark. */
  agent_name?: string | null | undefined;
  readonly contractor_id: string | null;
  contractor_name?: string | null | undefined;
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

/** The columns of a `JobRow` without the names of its organisations, each prefixed with `prefix`, such as `job.`. */
export function jobColumns(prefix: string): Sql {
  return raw(columnNames.map((name) => prefix + name).join(", "));
}

export interface OrganizationRow {
  readonly id: string;
  readonly name: string;
  readonly type: OrganizationType;
}
