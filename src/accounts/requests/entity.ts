/** Account requests, and the notes, questions and answers about them. */
import { defineEntity, p, type InferEntity } from "@mikro-orm/postgresql";
import { Organization } from "../../organizations/api.ts";
import { organizationTypes } from "../../core/principal.ts";

export const accountRequestStatuses = [
  "pending",
  "awaiting_reply",
  "approved",
  "registered",
  "rejected",
] as const;
export type AccountRequestStatus = (typeof accountRequestStatuses)[number];

export const accountRequestNoteKinds = ["note", "question", "answer", "rejection", "approval"] as const;
export type AccountRequestNoteKind = (typeof accountRequestNoteKinds)[number];

/** At most one open request per e-mail address. */
const OPEN_STATUSES_SQL = "status in ('pending', 'awaiting_reply', 'approved')";

export const AccountRequest = defineEntity({
  name: "AccountRequest",
  tableName: "account_request",
  properties: {
    id: p.uuid().primary(),
    status: p.enum(accountRequestStatuses).default("pending"),
    /** Lower case. */
    email: p.text(),
    organizationName: p.text(),
    organizationType: p.enum(organizationTypes),
    message: p.text().nullable(),
    createdAt: p.datetime(3).defaultRaw("now()"),
    decidedAt: p.datetime(3).nullable(),
    /** The display name, as in the audit log. */
    decidedBy: p.text().nullable(),
    organization: () => p.manyToOne(Organization).nullable().deleteRule("no action"),
    /** When the registration link expires; null if none was sent or it was used. */
    registrationExpiresAt: p
      .datetime(3)
      .formula(
        ({ id }) =>
          `(select expires_at from email_token where kind = 'registration' and subject_id = ${id} and used_at is null)`,
      )
      .persist(false)
      .nullable(),
  },
  indexes: [{ name: "account_request_status", properties: ["status", "id"] }],
  uniques: [{ name: "account_request_open_email", properties: ["email"], where: OPEN_STATUSES_SQL }],
});

export type AccountRequest = InferEntity<typeof AccountRequest>;

export const AccountRequestNote = defineEntity({
  name: "AccountRequestNote",
  tableName: "account_request_note",
  properties: {
    id: p.uuid().primary(),
    request: () => p.manyToOne(AccountRequest).deleteRule("cascade"),
    at: p.datetime(3).defaultRaw("clock_timestamp()"),
    /** The display name, as in the audit log. */
    by: p.text(),
    kind: p.enum(accountRequestNoteKinds),
    text: p.text(),
  },
  indexes: [{ name: "account_request_note_request", properties: ["request", "id"] }],
});

export type AccountRequestNote = InferEntity<typeof AccountRequestNote>;
