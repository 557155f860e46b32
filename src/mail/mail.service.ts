/** Mails: written in the transaction that has a reason for them, looked at in the outbox, sent by a worker. */
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
  /** One address. */
  readonly to: string;
  /** What it is about, such as `registration`. */
  readonly kind: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

export interface MailService {
  /** Writes it into the caller's transaction: it is sent when that commits, and never otherwise. */
  enqueue(on: Queryable, mail: NewMail): Promise<void>;
  /** For operators: newest first, for 30 days. */
  list(on: Queryable, request: MailListOptions): Promise<MailPage>;
  /** For operators: a mail that was given up (its typed id) waits for its turn again. */
  resend(context: AuditContext, id: string): Promise<MailView>;
}

export interface MailServiceDeps {
  database: Database;
  secretBox: SecretBox;
  /** Whether a mail server is named: then nobody reads links in the outbox. */
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
    const message = recipient.error.issues[0]?.message ?? "is no e-mail address";
    throw badRequest([{ location: "body", field: "email", code: "invalid_value", message }]);
  }
  const id = newUuid();
  // Told with the commit, not before: who is told sooner finds nothing. Mails are few, and so are commits that wait for
  // each other, which is what a notification within a transaction costs.
  await on.query(sql`
    with written as (
      insert into mail (id, recipient, kind, subject, redacted_text, sealed_body)
      values (${id}, ${recipient.data}, ${mail.kind}, ${toSingleLine(mail.subject)}, ${redactLinks(mail.text)},
        ${sealBody(secretBox, id, mail)})
      returning 1
    ) select pg_notify(${MAILS_CHANNEL}, '') from written`);
}
