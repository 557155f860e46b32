/** The operators' outbox: lists mails and resends failed ones. */
import { decodeIdCursor, encodeCursor } from "../platform/cursor.ts";
import { type AuditContext, recordAuditEvent } from "../audit/api.ts";
import type { Database, Queryable } from "../platform/postgres/database.ts";
import { AppError } from "../platform/errors.ts";
import { fromTypedId, toTypedId } from "../platform/ids.ts";
import type { SecretBox } from "../platform/secret-box.ts";
import { raw, sql } from "../platform/postgres/sql.ts";
import { toIsoTime } from "../platform/time.ts";
import { openBody } from "./mail.encryption.ts";
import type { MailStatus } from "./mail.entity.ts";
import { MAILS_CHANNEL } from "./mail.queue.ts";

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
  /** Links are redacted, except in `kept` mails while no mail server is configured: operators then need the links. */
  readonly text: string;
}

export interface MailListOptions {
  /** Only these mails (uuids); absent: all. */
  readonly ids?: readonly string[] | undefined;
  readonly status?: MailStatus | undefined;
  readonly limit: number;
  /** Start after the mail with this uuid. */
  readonly afterId?: string | undefined;
}

export interface MailPage {
  /** Newest first. */
  readonly items: MailView[];
  readonly hasNext: boolean;
}

interface MailOutboxDeps {
  database: Queryable;
  secretBox: Pick<SecretBox, "open">;
  isSmtpConfigured: boolean;
}

interface MailRow {
  id: string;
  recipient: string;
  subject: string;
  kind: string;
  status: MailStatus;
  attempts: number;
  last_error: string | null;
  created_at: string;
  sent_at: string | null;
  due_at: string | null;
  redacted_text: string;
  stored_body: string | null;
}

const mailColumns =
  raw(`id, recipient, subject, kind, status, attempts, last_error, created_at, sent_at, due_at, redacted_text,
  case when status = 'kept' then sealed_body end as stored_body`);

const CURSOR = "mails";

/** The list cursor of a mail. */
export function mailCursor({ id }: MailView): string {
  return encodeCursor(CURSOR, [fromTypedId("eml", id)]);
}

/** Returns the uuid of the mail at the cursor, or null if `text` is not a cursor of this list. */
export function readMailCursor(text: string): string | null {
  return decodeIdCursor(CURSOR, text);
}

export async function listMails(
  deps: MailOutboxDeps,
  { ids, status, limit, afterId }: MailListOptions,
): Promise<MailPage> {
  const rows = await deps.database.query<MailRow>(sql`
    select ${mailColumns} from mail
    where ${ids === undefined ? raw("true") : sql`id = any(${[...ids]}::uuid[])`}
      and ${status === undefined ? raw("true") : sql`status = ${status}`}
      and ${afterId === undefined ? raw("true") : sql`id < ${afterId}::uuid`}
    order by id desc limit ${limit + 1}`);
  return { items: rows.slice(0, limit).map((row) => toMailView(deps, row)), hasNext: rows.length > limit };
}

/**
 * Queues a failed mail again, or a `kept` one once a mail server is configured. `id` is typed. Throws NotFoundException,
 * or ConflictException for a mail in another status.
 */
export async function resendMail(
  deps: MailOutboxDeps & { database: Database },
  context: AuditContext,
  id: string,
): Promise<MailView> {
  const uuid = fromTypedId("eml", id);
  if (uuid === null) throw mailNotFound();
  return await deps.database.transaction(async (tx) => {
    const row = await requeueMail(tx, uuid, deps.isSmtpConfigured);
    if (!row) throw (await mailExists(tx, uuid)) ? notFailedError() : mailNotFound();
    const { kind, recipient } = row;
    await recordAuditEvent(tx, {
      ...context,
      action: "mail.resent",
      organizationId: null,
      subject: id,
      details: { kind, to: recipient },
    });
    return toMailView(deps, row);
  });
}

async function requeueMail(
  tx: Queryable,
  uuid: string,
  isSmtpConfigured: boolean,
): Promise<MailRow | undefined> {
  const resendableStatuses = isSmtpConfigured ? raw("('failed', 'kept')") : raw("('failed')");
  const [row] = await tx.query<MailRow>(sql`
    with requeued as (
      update mail set status = 'waiting', attempts = 0, due_at = clock_timestamp(), lease_token = null
      where id = ${uuid}::uuid and status in ${resendableStatuses} and sealed_body is not null
      returning ${mailColumns}
    ) select requeued.*, pg_notify(${MAILS_CHANNEL}, '') from requeued`);
  return row;
}

function mailNotFound(): AppError {
  return new AppError("NotFoundException", "There is no such mail");
}

function notFailedError(): AppError {
  return new AppError("ConflictException", "Only a mail that failed can be sent again");
}

async function mailExists(database: Queryable, uuid: string): Promise<boolean> {
  return (await database.query(sql`select from mail where id = ${uuid}::uuid`)).length > 0;
}

function toMailView(deps: MailOutboxDeps, row: MailRow): MailView {
  return {
    id: toTypedId("eml", row.id),
    to: row.recipient,
    subject: row.subject,
    kind: row.kind,
    status: row.status,
    attempts: row.attempts,
    lastError: row.last_error,
    createdAt: toIsoTime(row.created_at),
    sentAt: row.sent_at === null ? null : toIsoTime(row.sent_at),
    nextAttemptAt: row.status === "waiting" && row.due_at !== null ? toIsoTime(row.due_at) : null,
    text: visibleText(deps, row),
  };
}

function visibleText(
  { secretBox, isSmtpConfigured }: MailOutboxDeps,
  { id, redacted_text: redactedText, stored_body: storedBody }: MailRow,
): string {
  if (isSmtpConfigured || storedBody === null) return redactedText;
  try {
    return openBody(secretBox, id, storedBody).text;
  } catch {
    // Sealed with another WAYMARK_SECRET. The rest of the list is still useful.
    return redactedText;
  }
}
