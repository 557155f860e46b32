/** Users' credentials: passwords and two-factor secrets. */
import { defineEntity, p } from "@mikro-orm/postgresql";
import { User } from "../organizations/api.ts";

/** A user's password, and the identities that single sign-on has linked, in the schema that better-auth expects. */
export const UserCredential = defineEntity({
  name: "UserCredential",
  tableName: "user_credential",
  properties: {
    id: p.uuid().primary(),
    user: () => p.manyToOne(User).deleteRule("cascade"),
    /** Of a password: the user's id. Of an identity: its issuer and subject, separated by a space. */
    accountId: p.text(),
    /** `credential` for a password, `operators` or the uuid of the connection's organisation for an identity. */
    providerId: p.text(),
    /** The argon2id hash, as a PHC string. Null for an identity. */
    password: p.text().nullable(),
    /** Of the former version, which runs beside this one during an upgrade. */
    browserEpoch: p.uuid().defaultRaw("gen_random_uuid()"),
    createdAt: p.datetime(3).defaultRaw("now()"),
    updatedAt: p.datetime(3).defaultRaw("now()"),
  },
  uniques: [{ name: "user_credential_account", properties: ["providerId", "accountId"] }],
  indexes: [{ name: "user_credential_user", properties: ["user"] }],
});

/** The `providerId` of a password. */
export const PASSWORD_PROVIDER = "credential";

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
