/** Enqueues mails in the caller's transaction, and lists and resends them for operators. mail/worker.ts sends them. */
import { LockMode, raw } from "@mikro-orm/postgresql";
import { type AuditContext, recordAuditEvent } from "../audit/api.ts";
import { decodeIdCursor, encodeCursor, type ListCursor } from "../core/cursor.ts";
import type { Database, Reader } from "../core/postgres/database.ts";
import { listNewest, type Page, type PageRequest } from "../core/postgres/list-page.ts";
import { AppError, badRequest } from "../core/errors.ts";
import { fromTypedId, newUuid, toTypedId } from "../core/ids.ts";
import type { SecretBox } from "../core/secret-box.ts";
import { emailAddress, toSingleLine } from "../core/mail/address.ts";
import { openBody, sealBody } from "./encryption.ts";
import { Mail, type MailStatus } from "./entity.ts";
import { notifyMailWorkers } from "./queue.sql.ts";
import { redactLinks, type NewMail } from "./template.ts";

const CURSOR = "mails";

/** Ids are typed, times ISO 8601. */
export interface MailView {
  readonly id: string;
  readonly to: string;
  readonly subject: string;
  readonly kind: string;
  readonly status: MailStatus;
  readonly attempts: number;
  readonly lastError: string | null;
  readonly createdAt: string;
  readonly sentAt: string | null;
  readonly nextAttemptAt: string | null;
  /** Links are redacted, except in `stored` mails while no mail server is configured: operators then need the links. */
  readonly text: string;
}

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

  /** Sent when the caller's transaction commits. Throws BadRequestException if `to` is not an e-mail address. */
  async enqueue(on: Reader, mail: NewMail): Promise<void> {
    const recipient = emailAddress.safeParse(mail.to);
    if (!recipient.success) {
      const message = recipient.error.issues[0]?.message ?? "must be an e-mail address";
      throw badRequest([{ location: "body", field: "email", code: "invalid_value", message }]);
    }
    const id = newUuid();
    await on.em().insert(Mail, {
      id,
      recipient: recipient.data,
      kind: mail.kind,
      subject: toSingleLine(mail.subject),
      redactedText: redactLinks(mail.text),
      sealedBody: sealBody(this.#deps.secretBox, id, mail),
    });
    await notifyMailWorkers(on);
  }

  /** For operators: the mails of the last 30 days, newest first. */
  async list(reader: Reader, { ids, status, ...page }: MailListOptions): Promise<Page<MailView>> {
    const where = { ...(ids && { id: { $in: ids } }), ...(status && { status }) };
    const { items, hasMore } = await listNewest(reader.em(), Mail, { ...page, where });
    return { items: items.map((mail) => this.#toView(mail)), hasMore };
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
      await notifyMailWorkers(tx);
      await recordAuditEvent(tx, {
        ...context,
        action: "mail.resent",
        organizationId: null,
        subject: id,
        details: { kind: mail.kind, to: mail.recipient },
      });
      return this.#toView(mail);
    });
  }

  #toView(mail: Mail): MailView {
    const { subject, kind, status, attempts, lastError = null } = mail;
    return {
      id: toTypedId("eml", mail.id),
      to: mail.recipient,
      subject,
      kind,
      status,
      attempts,
      lastError,
      createdAt: mail.createdAt.toISOString(),
      sentAt: mail.sentAt?.toISOString() ?? null,
      nextAttemptAt: (status === "pending" ? mail.dueAt?.toISOString() : null) ?? null,
      text: this.#visibleText(mail),
    };
  }

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

/** Cursors of the list. */
export const mailCursor: ListCursor<MailView> = {
  encode: ({ id }) => encodeCursor(CURSOR, [fromTypedId("eml", id)]),
  decode: (text) => decodeIdCursor(CURSOR, text),
};
