/** Tokens in e-mailed links. One row per kind and subject, so a new token replaces the previous one. */
import { defineEntity, p, type InferEntity } from "@mikro-orm/postgresql";

export const emailTokenKinds = [
  "registration",
  "invitation",
  "password_reset",
  "account_request_answer",
] as const;
export type EmailTokenKind = (typeof emailTokenKinds)[number];

export const EmailToken = defineEntity({
  name: "EmailToken",
  tableName: "email_token",
  properties: {
    kind: p.enum(emailTokenKinds).primary(),
    /** The uuid of the account request, invitation or user. */
    subjectId: p.uuid().primary(),
    /** SHA-256. The token itself is not stored. */
    tokenHash: p.blob(),
    email: p.text(),
    expiresAt: p.datetime(3),
    usedAt: p.datetime(3).nullable(),
  },
  uniques: [{ name: "email_token_token_hash", properties: ["tokenHash"] }],
});

export type EmailToken = InferEntity<typeof EmailToken>;
