/** What users sign in with: their password and their second factor. */
import { defineEntity, p } from "@mikro-orm/postgresql";
import { User } from "../organizations/api.ts";

/** A person's password, as the library keeps it: one row each. */
export const UserCredential = defineEntity({
  name: "UserCredential",
  tableName: "user_credential",
  properties: {
    id: p.uuid().primary(),
    user: () => p.manyToOne(User).unique().deleteRule("cascade"),
    /** The person's id again. */
    accountId: p.text(),
    /** Always `credential`. */
    providerId: p.text(),
    /** Its argon2id hash, as a PHC string. */
    password: p.text(),
    /** Of the cookies by which browsers are known (known-browser.ts): another value makes all of them invalid. */
    browserEpoch: p.uuid().defaultRaw("gen_random_uuid()"),
    createdAt: p.datetime(3).defaultRaw("now()"),
    updatedAt: p.datetime(3).defaultRaw("now()"),
  },
});

/** A person's second factor. */
export const UserTwoFactor = defineEntity({
  name: "UserTwoFactor",
  tableName: "user_two_factor",
  properties: {
    id: p.uuid().primary(),
    user: () => p.manyToOne(User).unique().deleteRule("cascade"),
    /** Encrypted. */
    secret: p.text(),
    /** Those that are left, encrypted. */
    recoveryCodes: p.text(),
    /** Whether a first code was entered; until then it does not count. */
    verified: p.boolean().default(false),
    /** Wrong codes in a row. */
    failures: p.integer().default(0),
    lockedUntil: p.datetime(3).nullable(),
  },
});
