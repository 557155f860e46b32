/** Organisations in the shape of the GraphQL schema. */
import { toTypedId } from "../../platform/ids.ts";
import type { OrganizationType } from "../../platform/principal.ts";

export interface OrganizationNode {
  readonly id: string;
  readonly name: string;
  readonly type: Uppercase<OrganizationType>;
}

export function toOrganizationNode(row: {
  id: string;
  name: string;
  type: OrganizationType;
}): OrganizationNode {
  return {
    id: toTypedId("org", row.id),
    name: row.name,
    type: row.type.toUpperCase() as OrganizationNode["type"],
  };
}
