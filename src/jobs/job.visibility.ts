/** The one rule of who sees which job: an agent those of its own, a contractor those assigned to it, an operator all. */
import type { Principal } from "../platform/principal.ts";
import { raw, sql, type Sql } from "../platform/postgres/sql.ts";

const organizationColumn = { agent: "agent_id", contractor: "contractor_id" } as const;

/**
 * The condition that a row of `table` (one with `agent_id` and `contractor_id`: jobs, and their events) is visible to
 * `viewer`. It stands in the `where` of every read and write, so that what is not visible is not there.
 */
export function visibleTo(principal: Principal, table: "job" | "job_event" = "job"): Sql {
  if (principal.organizationId === null) return sql`true`;
  return sql`${raw(`${table}.${organizationColumn[principal.organizationType]}`)} = ${principal.organizationId}`;
}

/** The condition that a row of `table` is visible to one of `viewers`; which of them that is, `isVisibleTo` tells. */
export function visibleToAny(principals: readonly Principal[], table: "job" | "job_event" = "job"): Sql {
  if (principals.some(({ organizationId }) => organizationId === null)) return sql`true`;
  const ids = principals.map(({ organizationId }) => organizationId);
  return sql`(${raw(table)}.agent_id = any(${ids}::uuid[]) or ${raw(table)}.contractor_id = any(${ids}::uuid[]))`;
}

/** Whether `viewer` may see a row that was read for several viewers at once. */
export function isVisibleTo(
  principal: Principal,
  row: Readonly<Record<"agent_id" | "contractor_id", string | null>>,
): boolean {
  if (principal.organizationId === null) return true;
  return row[organizationColumn[principal.organizationType]] === principal.organizationId;
}
