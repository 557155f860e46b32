/** A person who signs in, and what they sign in with. Removing one deletes the row: their sessions go with it at once. */
import { defineEntity, p, type InferEntity } from "@mikro-orm/postgresql";
import { Organization } from "./organization.entity.ts";

/** Owners and members belong to an organisation, operators to none. */
export const userRoles = ["owner", "member", "operator"] as const;
export type UserRole = (typeof userRoles)[number];

export const User = defineEntity({
  name: "User",
  tableName: "user_account",
  properties: {
    id: p.uuid().primary(),
    name: p.text(),
    /** In small letters. */
    email: p.text().unique(),
    /** Always so: nobody registers but by a link that was sent there. The library asks for it. */
    emailVerified: p.boolean().default(true),
    /** Null: an operator. */
    organization: () => p.manyToOne(Organization).nullable().deleteRule("no action"),
    role: p.enum(userRoles),
    /** Whether signing in takes a second factor. */
    twoFactorEnabled: p.boolean().default(false),
    createdAt: p.datetime(3).defaultRaw("now()"),
    updatedAt: p.datetime(3).defaultRaw("now()"),
    /** To the minute. */
    lastSeenAt: p.datetime(3).nullable(),
  },
  checks: [
    { name: "user_account_operator_check", expression: "(role = 'operator') = (organization_id is null)" },
  ],
  indexes: [{ name: "user_account_organization", properties: ["organization"] }],
});

export type User = InferEntity<typeof User>;
