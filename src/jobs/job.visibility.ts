/** The one rule of who sees which job: an agent those of its own, a contractor those assigned to it, an operator all. */
import type { Viewer } from "../platform/principal.ts";
import { raw, sql, type Sql } from "../platform/sql.ts";

const organizationColumn = { agent: "agent_id", contractor: "contractor_id" } as const;

/**
 * The condition that a row of `table` (one with `agent_id` and `contractor_id`: jobs, and their events) is visible to
 * `viewer`. It stands in the `where` of every read and write, so that what is not visible is not there.
 */
export function visibleTo(viewer: Viewer, table: "job" | "job_event" = "job"): Sql {
  if (viewer.organizationId === null) return sql`true`;
  return sql`${raw(`${table}.${organizationColumn[viewer.organizationType]}`)} = ${viewer.organizationId}`;
}
