/** Organisations in the shape of the GraphQL schema. */
import { toTypedId } from "../../../core/ids.ts";
import type { OrganizationType } from "../../../core/principal.ts";

export interface OrganizationNode {
  readonly id: string;
  readonly name: string;
  readonly type: OrganizationType;
}

export function toOrganizationNode({ id, name, type }: OrganizationNode): OrganizationNode {
  return { id: toTypedId("org", id), name, type };
}
