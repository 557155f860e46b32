/** A job as PostgreSQL gives it: the columns that the API shows, times and dates as text. */
import { jobFieldNames, type JobPatch } from "./job.fields.ts";
import { raw, type Sql } from "../platform/sql.ts";

export type JobRow = Required<{ [Name in keyof JobPatch]: Exclude<JobPatch[Name], undefined> }> & {
  readonly id: string;
  readonly marking_number: string;
  readonly agent_id: string;
  readonly contractor_id: string | null;
  readonly provider_status: string | null;
  readonly version: number;
  /** PostgreSQL's text of a timestamptz in UTC, such as `2026-11-21 12:50:43.123+00`. */
  readonly created_at: string;
  readonly updated_at: string;
};

const names = [
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

/** The columns of a `JobRow`, each with `prefix` (`job.`) in front. */
export function jobColumns(prefix: string): Sql {
  return raw(names.map((name) => prefix + name).join(", "));
}
