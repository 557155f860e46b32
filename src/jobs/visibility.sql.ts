/**
 * Job visibility: agents see their own jobs, contractors the jobs assigned to them, operators all live jobs. Every read and
 * write of jobs and events must include the rule, in one of its two forms: the SQL condition or the MikroORM filter.
 */
import { raw as ormRaw } from "@mikro-orm/postgresql";
import type { Principal } from "../core/principal.ts";
import { invariant } from "../core/errors.ts";
import { raw, sql, type Sql } from "../core/postgres/sql.ts";

/** The agents of test jobs. PostgreSQL hashes them once per statement; it would compare each row with all elements of an array. */
const TEST_AGENTS = "(select id from organization where live_organization_id is not null and type = 'agent')";
const isLive = (table: string): string => `${table}.agent_id not in ${TEST_AGENTS}`;

/** A column for `isVisibleTo`: whether the row of `table` is of a test organisation. */
export const isTestColumn = (table: "job_event"): Sql =>
  raw(`${table}.agent_id in ${TEST_AGENTS} as is_test`);

const organizationColumn = { agent: "agent_id", contractor: "contractor_id" } as const;

/** SQL condition: the row of `table` is visible to `principal`. */
export function visibleTo(principal: Principal, table: "job" | "job_event" = "job"): Sql {
  if (principal.organizationId === null) return raw(isLive(table));
  return sql`${raw(`${table}.${organizationColumn[principal.organizationType]}`)} = ${principal.organizationId}`;
}

/** The rule for the entity `Job`: `em.find(Job, …, { filters: { visibleTo: { principal } } })`. */
export const visibilityFilter = {
  name: "visibleTo",
  cond: ({ principal }: { principal?: Principal }) => {
    invariant(principal, "MikroORM throws if a filter has no arguments");
    return principal.organizationId === null
      ? { [ormRaw((alias) => isLive(alias))]: [] }
      : { [organizationColumn[principal.organizationType]]: principal.organizationId };
  },
  default: false,
};

/** SQL condition: the row of `table` is visible to at least one of `principals`. Then use `isVisibleTo` for each. */
export function visibleToAny(principals: readonly Principal[], table: "job" | "job_event" = "job"): Sql {
  if (principals.some(({ organizationId }) => organizationId === null)) return sql`true`;
  const ids = principals.map(({ organizationId }) => organizationId);
  return sql`(${raw(table)}.agent_id = any(${ids}::uuid[]) or ${raw(table)}.contractor_id = any(${ids}::uuid[]))`;
}

/** True if `principal` can see the row. For rows read with `visibleToAny`. */
export function isVisibleTo(
  principal: Principal,
  row: Readonly<Record<"agent_id" | "contractor_id", string | null> & { is_test: boolean }>,
): boolean {
  if (principal.organizationId === null) return !row.is_test;
  return row[organizationColumn[principal.organizationType]] === principal.organizationId;
}
