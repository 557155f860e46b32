/** A user who can sign in. Deleting the row deletes the user's credentials and sessions with it. */
import { defineEntity, p, type InferEntity } from "@mikro-orm/postgresql";
import { Organization } from "./entity.ts";
import { tenantFilter } from "./tenancy.ts";

/** Operators belong to no organisation, users of the other roles to one. */
export const userRoles = ["owner", "developer", "dispatcher", "viewer", "operator"] as const;
export type UserRole = (typeof userRoles)[number];

export const User = defineEntity({
  name: "User",
  tableName: "user_account",
  properties: {
    id: p.uuid().primary(),
    name: p.text(),
    /** Lower case. */
    email: p.text().unique(),
    /** Always true, as users register through an e-mailed link. better-auth needs the column. */
    emailVerified: p.boolean().default(true),
    /** Null for operators. */
    organization: () => p.manyToOne(Organization).nullable().deleteRule("no action"),
    role: p.enum(userRoles),
    twoFactorEnabled: p.boolean().default(false),
    /** A new value ends all sessions and makes all browsers unknown, also those of a sign-in in progress. */
    epoch: p.uuid().defaultRaw("gen_random_uuid()"),
    /** Until then the password signs in although SSO_ONLY is on; set by the command line. */
    passwordAllowedUntil: p.datetime(3).nullable(),
    createdAt: p.datetime(3).defaultRaw("now()"),
    updatedAt: p.datetime(3).defaultRaw("now()"),
    /** Updated at most once a minute. */
    lastSeenAt: p.datetime(3).nullable(),
  },
  checks: [
    { name: "user_account_operator_check", expression: "(role = 'operator') = (organization_id is null)" },
  ],
  filters: tenantFilter,
  indexes: [{ name: "user_account_organization", properties: ["organization"] }],
});

export type User = InferEntity<typeof User>;
