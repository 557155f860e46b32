/** The principal who manages the members of a group: of an organisation, or the operators. */
import type { AuditContext } from "../../audit/api.ts";
import type { UserRole } from "../../organizations/api.ts";
import { badRequest } from "../../core/errors.ts";
import type { AuthenticatedActor } from "../../core/fresh-authentication.ts";

/** An organisation (a uuid), or null for the operators. */
export interface MemberGroup {
  readonly organizationId: string | null;
}

export type MemberAdmin = AuditContext & AuthenticatedActor & MemberGroup;

/** Throws BadRequestException for a role that the group doesn't have. */
export function assertRoleInGroup(role: UserRole, { organizationId }: MemberGroup): void {
  if ((role === "operator") === (organizationId === null)) return;
  const message =
    organizationId === null ? "must be OPERATOR" : "must be OWNER, DEVELOPER, DISPATCHER or VIEWER";
  throw badRequest([{ location: "body", field: "role", code: "invalid_value", message }]);
}
