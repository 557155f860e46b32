/** Checks that the agents and contractors named in a request exist and have the right type. */
import type { Queryable } from "../../platform/postgres/database.ts";
import type { Problem } from "../../platform/errors.ts";
import { isUuid } from "../../platform/ids.ts";
import type { OrganizationType } from "../../platform/principal.ts";
import { sql } from "../../platform/postgres/sql.ts";

export interface OrganizationCheck {
  agentProblems(id: string): Problem[];
  contractorProblems(id: string | null): Problem[];
}

/** Looks up all `ids` in one statement. Ids that are null or not a UUID are skipped. */
export async function checkOrganizations(
  database: Queryable,
  ids: readonly (string | null)[],
): Promise<OrganizationCheck> {
  const requested = [...new Set(ids)].filter((id) => id !== null && isUuid(id));
  const rows =
    requested.length === 0
      ? []
      : await database.query<{ id: string; type: OrganizationType }>(
          sql`select id, type from organization where id = any(${requested}::uuid[])`,
        );
  const types = new Map(rows.map(({ id, type }) => [id, type]));
  const hasType = (type: OrganizationType, id: string): boolean => types.get(id.toLowerCase()) === type;
  return {
    agentProblems: (id) =>
      hasType("agent", id) ? [] : [unknownOrganization("agentId", "must be the id of an agent")],
    contractorProblems: (id) =>
      id === null || hasType("contractor", id)
        ? []
        : [unknownOrganization("contractorId", "must be the id of a contractor, or null")],
  };
}

function unknownOrganization(field: string, message: string): Problem {
  return { location: "body", field, code: "unknown_organization", message };
}
