/** Invitations that wait to be accepted: an accepted or revoked one is gone from here, and stands in the audit log. */
import { defineEntity, p } from "@mikro-orm/postgresql";
import { Organization } from "../../organizations/api.ts";

export const invitedRoles = ["owner", "member", "operator"] as const;
export type InvitedRole = (typeof invitedRoles)[number];

export const Invitation = defineEntity({
  name: "Invitation",
  tableName: "invitation",
  properties: {
    id: p.uuid().primary(),
    /** Null: to the operators. */
    organization: () => p.manyToOne(Organization).nullable().deleteRule("no action"),
    /** In small letters. */
    email: p.text(),
    role: p.enum(invitedRoles),
    /** In words, as the audit log has it. */
    invitedBy: p.text(),
    /** When it was last sent. */
    invitedAt: p.datetime(3),
  },
  uniques: [
    { name: "invitation_organization_email", properties: ["organization", "email"] },
    { name: "invitation_operator_email", properties: ["email"], where: "organization_id is null" },
  ],
});
