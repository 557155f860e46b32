/** An outgoing mail: inserted in the transaction that causes it, sent by a worker after the commit. */
import { defineEntity, p, type InferEntity } from "@mikro-orm/postgresql";
import type { SecretBox } from "../core/secret-box.ts";

/** `pending`: for its first or next attempt. `stored`: written to a file, as no mail server is configured. */
export const mailStatuses = ["pending", "sent", "failed", "stored"] as const;
export type MailStatus = (typeof mailStatuses)[number];

export const Mail = defineEntity({
  name: "Mail",
  tableName: "mail",
  properties: {
    id: p.uuid().primary(),
    recipient: p.text(),
    kind: p.text(),
    subject: p.text(),
    /** The text without links, shown in the operators' outbox. */
    redactedText: p.text(),
    /** Text and HTML, encrypted as they contain sign-in links; null once sent. */
    sealedBody: p.text().nullable(),
    status: p.enum(mailStatuses).default("pending"),
    /** Incremented when an attempt starts. */
    attempts: p.integer().default(0),
    /** The time of the next attempt; during an attempt, the end of the lease. */
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

interface MailBody {
  readonly text: string;
  readonly html: string;
}

/** `id`: the mail's uuid. The ciphertext can be opened only with the same id. */
export function sealBody(box: Pick<SecretBox, "seal">, id: string, { text, html }: MailBody): string {
  return box.seal(JSON.stringify({ text, html }), sealContext(id));
}

/** Throws if the body was sealed with another WAYMARK_SECRET or for another mail. */
export function openBody(box: Pick<SecretBox, "open">, id: string, sealed: string): MailBody {
  return JSON.parse(box.open(sealed, sealContext(id))) as MailBody;
}

/** The additional authenticated data of a mail's body. */
function sealContext(id: string): string {
  return `mail ${id}`;
}
