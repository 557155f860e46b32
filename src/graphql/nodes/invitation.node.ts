/** Invitations in the shape of the GraphQL schema. */
import type { InvitationView } from "../../accounts/api.ts";
import { toTypedId } from "../../platform/ids.ts";

export type InvitationNode = Omit<InvitationView, "role"> & {
  readonly role: Uppercase<InvitationView["role"]>;
};

export function toInvitationNode(view: InvitationView): InvitationNode {
  return {
    ...view,
    id: toTypedId("inv", view.id),
    role: view.role.toUpperCase() as InvitationNode["role"],
  };
}
