/** Sessions, and sign-ins that still need a two-factor code. */
import { defineEntity, p, type InferEntity } from "@mikro-orm/postgresql";
import { User } from "../../organizations/api.ts";
import { HOUR_MS } from "../../core/time.ts";

/** The absolute lifetime; use doesn't extend it. */
export const SESSION_LIFETIME_MS = 30 * 24 * HOUR_MS;
/** A session that isn't used for this long expires. */
export const SESSION_IDLE_MS = 12 * HOUR_MS;

/** The `provider` of a session that a passkey opened or confirmed. */
export const PASSKEY_SESSION = "passkey";

export const UserSession = defineEntity({
  name: "UserSession",
  tableName: "user_session",
  properties: {
    id: p.uuid().primary(),
    user: () => p.manyToOne(User).deleteRule("cascade"),
    /** The cookie contains the token and a signature, so the token alone doesn't sign anyone in. */
    token: p.text().unique(),
    /** The user's when the sign-in began. The session is over if the user has another one. */
    epoch: p.uuid().nullable(),
    ipAddress: p.text().nullable(),
    userAgent: p.text().nullable(),
    /** The identity provider that signed the user in, or PASSKEY_SESSION; null after a password. */
    provider: p.text().nullable(),
    createdAt: p.datetime(3),
    updatedAt: p.datetime(3),
    /** The organisation that an operator views as its members see it (a UUID). */
    viewedOrganizationId: p.uuid().nullable(),
    /** The absolute expiry; use doesn't extend it. */
    expiresAt: p.datetime(3),
    /** Updated at most once a minute. */
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

export type UserSession = InferEntity<typeof UserSession>;

/** The condition of sessions that have not ended, and were used within twelve hours. */
export const activeAt = (nowMs: number) => ({
  expiresAt: { $gt: new Date(nowMs) },
  lastSeenAt: { $gt: new Date(nowMs - SESSION_IDLE_MS) },
});

/** better-auth's records of sign-ins whose password was correct and whose two-factor code is still missing. */
export const UserVerification = defineEntity({
  name: "UserVerification",
  tableName: "user_verification",
  properties: {
    id: p.uuid().primary(),
    identifier: p.text(),
    value: p.text(),
    /** The user's when the password was checked. */
    epoch: p.uuid().nullable(),
    expiresAt: p.datetime(3),
    createdAt: p.datetime(3).defaultRaw("now()"),
    updatedAt: p.datetime(3).defaultRaw("now()"),
  },
  indexes: [
    { name: "user_verification_identifier", properties: ["identifier"] },
    { name: "user_verification_expires_at", properties: ["expiresAt"] },
  ],
});
