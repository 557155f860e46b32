/** A job as PostgreSQL gives it: the columns that the API shows, times and dates as text. */
import { jobFieldNames, type JobPatch } from "./job.fields.ts";
import { raw, type Sql } from "../platform/sql.ts";

export type JobRow = Required<{ [Name in keyof JobPatch]: Exclude<JobPatch[Name], undefined> }> & {
  readonly id: string;
  readonly marking_number: string;
  readonly provider_status: string | null;
  readonly version: number;
  /** PostgreSQL's text of a timestamptz in UTC, such as `2026-11-21 12:50:43.123+00`. */
  readonly created_at: string;
  readonly updated_at: string;
};

const names = [
  "id",
  "marking_number",
  ...jobFieldNames,
  "provider_status",
  "version",
  "created_at",
  "updated_at",
];

/** A job with the organisations that see it, for those who see everything. */
export type AssignedJobRow = JobRow & { readonly agent_id: string; readonly contractor_id: string | null };

/** The columns of a `JobRow`, each with `prefix` (`job.`) in front. */
export function jobColumns(prefix: string): Sql {
  return raw(names.map((name) => prefix + name).join(", "));
}

export function assignedJobColumns(prefix: string): Sql {
  return raw([...names, "agent_id", "contractor_id"].map((name) => prefix + name).join(", "));
}
