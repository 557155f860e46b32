/** The links that mails carry: one row for each thing that one is good for, so that a new link is the end of the former. */
import { defineEntity, p } from "@mikro-orm/postgresql";

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
    /** The request, invitation or person that it is about. */
    subjectId: p.uuid().primary(),
    /** Of the token, never the token. */
    tokenHash: p.blob(),
    email: p.text(),
    expiresAt: p.datetime(3),
    usedAt: p.datetime(3).nullable(),
  },
  uniques: [{ name: "email_token_token_hash", properties: ["tokenHash"] }],
});
