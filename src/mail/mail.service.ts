/** Enqueues mails in the caller's transaction, and lists and resends them for operators. mail.worker.ts sends them. */
import type { AuditContext } from "../audit/api.ts";
import type { Database, Queryable } from "../platform/postgres/database.ts";
import { badRequest } from "../platform/errors.ts";
import { newUuid } from "../platform/ids.ts";
import type { SecretBox } from "../platform/secret-box.ts";
import { sql } from "../platform/postgres/sql.ts";
import { sealBody } from "./mail.encryption.ts";
import { emailAddress, toSingleLine } from "../platform/mail/address.ts";
import { listMails, resendMail, type MailPage, type MailListOptions, type MailView } from "./mail.outbox.ts";
import { MAILS_CHANNEL } from "./mail.queue.ts";
import { redactLinks } from "./mail.template.ts";

export type { MailPage, MailView };
export { mailCursor, readMailCursor } from "./mail.outbox.ts";

export interface NewMail {
  /** One e-mail address. */
  readonly to: string;
  /** For example `registration`. */
  readonly kind: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

export interface MailService {
  /** Sent when the caller's transaction commits. Throws BadRequestException if `to` is not an e-mail address. */
  enqueue(on: Queryable, mail: NewMail): Promise<void>;
  /** For operators: the mails of the last 30 days, newest first. */
  list(on: Queryable, request: MailListOptions): Promise<MailPage>;
  /** For operators: queues a failed mail (typed id) again. Throws NotFoundException and ConflictException. */
  resend(context: AuditContext, id: string): Promise<MailView>;
}

export interface MailServiceDeps {
  database: Database;
  secretBox: SecretBox;
  /** If true, the outbox never shows links. */
  isSmtpConfigured: boolean;
}

export function createMailService(deps: MailServiceDeps): MailService {
  return {
    enqueue: (on, mail) => enqueue(deps, on, mail),
    list: (on, request) => listMails({ ...deps, database: on }, request),
    resend: (context, id) => resendMail(deps, context, id),
  };
}

async function enqueue({ secretBox }: MailServiceDeps, on: Queryable, mail: NewMail): Promise<void> {
  const recipient = emailAddress.safeParse(mail.to);
  if (!recipient.success) {
    const message = recipient.error.issues[0]?.message ?? "must be an e-mail address";
    throw badRequest([{ location: "body", field: "email", code: "invalid_value", message }]);
  }
  const id = newUuid();
  // A notification within the transaction is delivered on commit, so the worker finds the row. Commits that notify are
  // serialized, which is acceptable because mails are rare.
  await on.query(sql`
    with written as (
      insert into mail (id, recipient, kind, subject, redacted_text, sealed_body)
      values (${id}, ${recipient.data}, ${mail.kind}, ${toSingleLine(mail.subject)}, ${redactLinks(mail.text)},
        ${sealBody(secretBox, id, mail)})
      returning 1
    ) select pg_notify(${MAILS_CHANNEL}, '') from written`);
}
