/** Users' credentials: passwords and two-factor secrets. */
import { defineEntity, p } from "@mikro-orm/postgresql";
import { User } from "../organizations/api.ts";

/** A user's password, in the schema that better-auth expects. One row per user. */
export const UserCredential = defineEntity({
  name: "UserCredential",
  tableName: "user_credential",
  properties: {
    id: p.uuid().primary(),
    user: () => p.manyToOne(User).unique().deleteRule("cascade"),
    /** Equals the user's id. */
    accountId: p.text(),
    /** Always `credential`. */
    providerId: p.text(),
    /** The argon2id hash, as a PHC string. */
    password: p.text(),
    createdAt: p.datetime(3).defaultRaw("now()"),
    updatedAt: p.datetime(3).defaultRaw("now()"),
  },
});

/** A user's TOTP secret and recovery codes. */
export const UserTwoFactor = defineEntity({
  name: "UserTwoFactor",
  tableName: "user_two_factor",
  properties: {
    id: p.uuid().primary(),
    user: () => p.manyToOne(User).unique().deleteRule("cascade"),
    /** Encrypted. */
    secret: p.text(),
    /** The unused ones, encrypted. */
    recoveryCodes: p.text(),
    /** False until the user has entered a first code. Until then sign-in needs no code. */
    verified: p.boolean().default(false),
    /** Consecutive wrong codes. */
    failures: p.integer().default(0),
    lockedUntil: p.datetime(3).nullable(),
  },
});
