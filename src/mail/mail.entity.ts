/** A mail on its way: written in the transaction that has a reason for it, sent afterwards by a worker. */
import { defineEntity, p, type InferEntity } from "@mikro-orm/postgresql";

/** `waiting` for its turn, the first or a further one; `kept` in a file, since no mail server is named. */
export const mailStatuses = ["waiting", "sent", "failed", "kept"] as const;
export type MailStatus = (typeof mailStatuses)[number];

export const Mail = defineEntity({
  name: "Mail",
  tableName: "mail",
  properties: {
    id: p.uuid().primary(),
    recipient: p.text(),
    kind: p.text(),
    subject: p.text(),
    /** Its text without its links, for whoever looks at the outbox. */
    redactedText: p.text(),
    /** Text and HTML, encrypted, since links in them open doors; null once it has been sent. */
    sealedBody: p.text().nullable(),
    status: p.enum(mailStatuses).default("waiting"),
    /** Counted when one begins. */
    attempts: p.integer().default(0),
    /** Waiting: when it is to be sent; while it is being sent: when the lease runs out. */
    dueAt: p.datetime(3).nullable().defaultRaw("now()"),
    leaseToken: p.uuid().nullable(),
    lastError: p.text().nullable(),
    createdAt: p.datetime(3).defaultRaw("now()"),
    sentAt: p.datetime(3).nullable(),
  },
  indexes: [
    { name: "mail_due", properties: ["status", "dueAt"] },
    { name: "mail_outbox", properties: ["status", "id"] },
  ],
});

export type Mail = InferEntity<typeof Mail>;
