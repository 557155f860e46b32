/** Users in the shape of the GraphQL schema. */
import type { MemberView } from "../../accounts/api.ts";
import { toTypedId } from "../../platform/ids.ts";

export interface UserNode {
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly role: Uppercase<MemberView["role"]>;
  readonly createdAt: string;
  readonly lastSeenAt: string | null;
  readonly hasTwoFactor: boolean;
}

export function toUserNode(view: MemberView): UserNode {
  return {
    ...view,
    id: toTypedId("usr", view.id),
    role: view.role.toUpperCase() as UserNode["role"],
  };
}
