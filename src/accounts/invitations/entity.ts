/** Pending invitations. Accepting or revoking one deletes its row; the audit log keeps the event. */
import { defineEntity, p, type InferEntity } from "@mikro-orm/postgresql";
import { Organization, tenantFilter, userRoles } from "../../organizations/api.ts";

export const Invitation = defineEntity({
  name: "Invitation",
  tableName: "invitation",
  properties: {
    id: p.uuid().primary(),
    /** Null for an invitation to the operators. */
    organization: () => p.manyToOne(Organization).nullable().deleteRule("no action"),
    /** Lower case. */
    email: p.text(),
    role: p.enum(userRoles),
    /** The display name, as in the audit log. */
    invitedBy: p.text(),
    /** When it was last sent. */
    invitedAt: p.datetime(3),
    expiresAt: p
      .datetime(3)
      .formula(
        ({ id }) => `(select expires_at from email_token where kind = 'invitation' and subject_id = ${id})`,
      )
      .persist(false),
  },
  filters: tenantFilter,
  uniques: [
    { name: "invitation_organization_email", properties: ["organization", "email"] },
    { name: "invitation_operator_email", properties: ["email"], where: "organization_id is null" },
  ],
});

export type Invitation = InferEntity<typeof Invitation>;
