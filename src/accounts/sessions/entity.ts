/** What stands between one request of a person and the next: sessions, and sign-ins that wait for their second factor. */
import { defineEntity, p } from "@mikro-orm/postgresql";
import { User } from "../../organizations/api.ts";

export const UserSession = defineEntity({
  name: "UserSession",
  tableName: "user_session",
  properties: {
    id: p.uuid().primary(),
    user: () => p.manyToOne(User).deleteRule("cascade"),
    /** Of the cookie, which signs it: whoever reads this table cannot use it. */
    token: p.text().unique(),
    address: p.text().nullable(),
    userAgent: p.text().nullable(),
    createdAt: p.datetime(3),
    updatedAt: p.datetime(3),
    /** However much it is used. */
    expiresAt: p.datetime(3),
    /** To the minute. */
    lastSeenAt: p.datetime(3).defaultRaw("now()"),
    /** When the user last entered the password, and a code with two-factor. */
    authenticatedAt: p.datetime(3).defaultRaw("now()"),
  },
  indexes: [
    { name: "user_session_user", properties: ["user"] },
    { name: "user_session_expires_at", properties: ["expiresAt"] },
    { name: "user_session_last_seen_at", properties: ["lastSeenAt"] },
  ],
});

/** What the library notes for a short while: a password was right, and a second factor is still to come. */
export const UserVerification = defineEntity({
  name: "UserVerification",
  tableName: "user_verification",
  properties: {
    id: p.uuid().primary(),
    identifier: p.text(),
    value: p.text(),
    expiresAt: p.datetime(3),
    createdAt: p.datetime(3).defaultRaw("now()"),
    updatedAt: p.datetime(3).defaultRaw("now()"),
  },
  indexes: [
    { name: "user_verification_identifier", properties: ["identifier"] },
    { name: "user_verification_expires_at", properties: ["expiresAt"] },
  ],
});
