/** Whether the organisations that jobs are to be of, or assigned to, are there and of the right type. */
import type { Queryable } from "../platform/database.ts";
import type { Problem } from "../platform/errors.ts";
import { isUuid } from "../platform/ids.ts";
import type { OrganizationType } from "../platform/principal.ts";
import { sql } from "../platform/sql.ts";

export interface FoundOrganizations {
  agentProblems(id: string): Problem[];
  contractorProblems(id: string | null): Problem[];
}

/** Looks for all of `ids` in one statement; none is needed where there are no ids. What is no uuid is nobody's id. */
export async function findOrganizations(
  database: Queryable,
  ids: readonly (string | null)[],
): Promise<FoundOrganizations> {
  const asked = [...new Set(ids)].filter((id) => id !== null && isUuid(id));
  const rows =
    asked.length === 0
      ? []
      : await database.query<{ id: string; type: OrganizationType }>(
          sql`select id, type from organization where id = any(${asked}::uuid[])`,
        );
  const types = new Map(rows.map(({ id, type }) => [id, type]));
  const isOf = (type: OrganizationType, id: string): boolean => types.get(id.toLowerCase()) === type;
  return {
    agentProblems: (id) => (isOf("agent", id) ? [] : [problemOf("agentId", "must be the id of an agent")]),
    contractorProblems: (id) =>
      id === null || isOf("contractor", id)
        ? []
        : [problemOf("contractorId", "must be the id of a contractor, or null")],
  };
}

function problemOf(field: string, message: string): Problem {
  return { location: "body", field, code: "unknown_organization", message };
}
