/**
 * Job visibility: agents see their own jobs, contractors the jobs assigned to them, operators all live jobs. Every read and
 * write of jobs and events must include the rule, in one of its two forms: the SQL condition or the MikroORM filter.
 */
import { raw as ormRaw } from "@mikro-orm/postgresql";
import type { OperatorPrincipal, OrganizationPrincipal, Principal } from "../core/principal.ts";
import { invariant } from "../core/errors.ts";
import { raw, sql, type Sql } from "../core/postgres/sql.ts";

/** The agents of test jobs. PostgreSQL hashes them once per statement; it would compare each row with all elements of an array. */
const TEST_AGENTS = "(select id from organization where live_organization_id is not null and type = 'agent')";
const isLive = (table: string): string => `${table}.agent_id not in ${TEST_AGENTS}`;

const organizationColumn = { agent: "agent_id", contractor: "contractor_id" } as const;

/** Who sees a job does not depend on the actor. */
export type Audience = Omit<OrganizationPrincipal, "actor"> | Omit<OperatorPrincipal, "actor">;

/** SQL condition: the row of `table` is visible to `principal`. */
export function visibleTo(principal: Audience, table: "job" | "job_event" = "job"): Sql {
  // `job.unassigned` has no agent. It repeats a change that operators see as the agent does.
  const hasAgent = table === "job_event" ? "job_event.agent_id is not null and " : "";
  if (principal.organizationId === null) return raw(hasAgent + isLive(table));
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
