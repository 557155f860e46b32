/** Invitations in the shape of the GraphQL schema. */
import type { InvitationView } from "../../accounts/api.ts";
import { toTypedId } from "../../platform/ids.ts";
import type { Invitation } from "../generated/schema-types.ts";

export function toInvitationNode(view: InvitationView): Invitation {
  return {
    ...view,
    id: toTypedId("inv", view.id),
    role: view.role.toUpperCase() as Invitation["role"],
  };
}
