/** Enqueues mails in the caller's transaction, and lists and resends them for operators. mail/worker.ts sends them. */
import { LockMode, raw } from "@mikro-orm/postgresql";
import { type AuditContext, recordAuditEvent } from "../audit/api.ts";
import { decodeIdCursor, encodeCursor, type ListCursor } from "../core/cursor.ts";
import type { Database, Reader } from "../core/postgres/database.ts";
import { listNewest, type Page, type PageRequest } from "../core/postgres/list-page.ts";
import { AppError, invariant } from "../core/errors.ts";
import { fromTypedId, newUuid, toTypedId } from "../core/ids.ts";
import type { SecretBox } from "../core/secret-box.ts";
import { emailAddress, toSingleLine } from "../core/mail.ts";
import { notifyOnCommit } from "../core/postgres/notify.ts";
import { Mail, type MailStatus, openBody, sealBody } from "./entity.ts";
import { redactLinks, type NewMail } from "./template.ts";

const CURSOR = "mails";

/** Workers listen on this channel. A periodic sweep finds mails whose notification was lost. */
export const MAILS_CHANNEL = "mails";

export type MailView = ReturnType<typeof toView>;

export interface MailListOptions extends PageRequest {
  /** Only these mails (uuids); absent: all. */
  readonly ids?: readonly string[] | undefined;
  readonly status?: MailStatus | undefined;
}

export interface MailServiceDeps {
  database: Database;
  secretBox: SecretBox;
  /** If true, the outbox never shows links. */
  isSmtpConfigured: boolean;
}

export class MailService {
  readonly #deps: MailServiceDeps;

  constructor(deps: MailServiceDeps) {
    this.#deps = deps;
  }

  /** Sent when the caller's transaction commits. `to` must have been validated as an e-mail address. */
  async enqueue(on: Reader, mail: NewMail): Promise<void> {
    const { to: recipient } = mail;
    invariant(emailAddress.safeParse(recipient).success, "the recipient is one e-mail address");
    const id = newUuid();
    await on.em().insert(Mail, {
      id,
      recipient,
      kind: mail.kind,
      subject: toSingleLine(mail.subject),
      redactedText: redactLinks(mail.text),
      sealedBody: sealBody(this.#deps.secretBox, id, mail),
    });
    await notifyOnCommit(on, MAILS_CHANNEL);
  }

  /** For operators: the mails of the last 30 days, newest first. */
  async list(reader: Reader, { ids, status, ...page }: MailListOptions): Promise<Page<MailView>> {
    const where = { ...(ids && { id: { $in: ids } }), ...(status && { status }) };
    const { items, hasMore } = await listNewest(reader.em(), Mail, { ...page, where });
    return { items: items.map((mail) => toView(mail, this.#visibleText(mail))), hasMore };
  }

  /**
   * For operators: queues a failed mail (typed id) again, or a `stored` one once a mail server is configured. Throws
   * NotFoundException, or ConflictException for a mail in another status.
   */
  async resend(context: AuditContext, id: string): Promise<MailView> {
    const { database, isSmtpConfigured } = this.#deps;
    return await database.transactional(async (em, tx) => {
      const uuid = fromTypedId("eml", id);
      const lock = { lockMode: LockMode.PESSIMISTIC_WRITE } as const;
      const mail = uuid === null ? null : await em.findOne(Mail, { id: uuid }, lock);
      if (!mail) throw new AppError("NotFoundException", "There is no such mail");
      const isResendable = mail.status === "failed" || (mail.status === "stored" && isSmtpConfigured);
      if (!isResendable || !mail.sealedBody)
        throw new AppError("ConflictException", "Only a mail that failed can be sent again");
      em.assign(mail, { status: "pending", attempts: 0, dueAt: raw("clock_timestamp()"), leaseToken: null });
      await notifyOnCommit(tx, MAILS_CHANNEL);
      await recordAuditEvent(tx, {
        ...context,
        action: "mail.resent",
        organizationId: null,
        subject: id,
        details: { kind: mail.kind, to: mail.recipient },
      });
      return toView(mail, this.#visibleText(mail));
    });
  }

  /** Links are redacted, except in `stored` mails while no mail server is configured: operators then need the links. */
  #visibleText({ id, status, sealedBody, redactedText }: Mail): string {
    const { secretBox, isSmtpConfigured } = this.#deps;
    if (isSmtpConfigured || status !== "stored" || !sealedBody) return redactedText;
    try {
      return openBody(secretBox, id, sealedBody).text;
    } catch {
      // Sealed with another WAYMARK_SECRET. The rest of the list is still useful.
      return redactedText;
    }
  }
}

/** Ids are typed, times ISO 8601. */
function toView({ id, recipient, sentAt, dueAt, createdAt, lastError, ...mail }: Mail, text: string) {
  const { subject, kind, status, attempts } = mail;
  return {
    id: toTypedId("eml", id),
    to: recipient,
    subject,
    kind,
    status,
    attempts,
    lastError: lastError ?? null,
    createdAt: createdAt.toISOString(),
    sentAt: sentAt?.toISOString() ?? null,
    nextAttemptAt: (status === "pending" ? dueAt?.toISOString() : null) ?? null,
    text,
  };
}

export const mailCursor: ListCursor<MailView> = {
  encode: ({ id }) => encodeCursor(CURSOR, [fromTypedId("eml", id)]),
  decode: (text) => decodeIdCursor(CURSOR, text),
};
