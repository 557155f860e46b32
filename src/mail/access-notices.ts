/** Acts that give or take access: recorded in the audit log, and mailed to the owners of the organisation. */
import type { MailService, NewMail } from "./mail.service.ts";
import { composeMail } from "./mail.template.ts";
import type { Queryable } from "../platform/postgres/database.ts";
import { sql } from "../platform/postgres/sql.ts";
import { actorDisplayName, type AuditEvent, recordAuditEvent } from "../audit/api.ts";

/** What was done, as the title of a mail. */
const mailTitles = {
  "key.created": "An API key was created",
  "key.rotated": "An API key was rotated",
  "key.revoked": "An API key was revoked",
  "endpoint.created": "A webhook endpoint was created",
  "endpoint.url_changed": "A webhook endpoint has a new URL",
  "endpoint.deleted": "A webhook endpoint was deleted",
  "endpoint.secret_rotated": "The secret of a webhook endpoint was rotated",
} as const;

export interface AccessChange extends AuditEvent {
  readonly action: keyof typeof mailTitles;
  /** What it was done to, in words for the owners, such as the name of a key or the host of an endpoint. */
  readonly subjectName: string;
}

/** Records the act and mails the owners, in the transaction of the act: neither is there without the other. */
export type RecordAccessChange = (on: Queryable, act: AccessChange) => Promise<void>;

export interface AccessNoticeDeps {
  mails: Pick<MailService, "enqueue">;
  /** The URL of a page of the console. */
  pageUrl: (path: string) => string;
}

/** Acts of an organisation within an hour that are mailed. The audit log has all of them. */
export const MAX_NOTICES_PER_HOUR = 10;

export function createAccessChangeRecorder({ mails, pageUrl }: AccessNoticeDeps): RecordAccessChange {
  return async (on, change) => {
    await recordAuditEvent(on, change);
    const changesThisHour =
      change.organizationId === null ? 0 : await countChangesThisHour(on, change.organizationId);
    if (changesThisHour === 0 || changesThisHour > MAX_NOTICES_PER_HOUR) return;
    const owners = await on.query<{ email: string }>(sql`
      select email from user_account where organization_id = ${change.organizationId}::uuid and role = 'owner'`);
    if (owners.length === 0) return;
    const actor =
      change.actor.type === "system"
        ? "an operator of the service"
        : await actorDisplayName(on, change.actor);
    const isLast = changesThisHour === MAX_NOTICES_PER_HOUR;
    for (const { email } of owners)
      await mails.enqueue(on, accessChangeMail(email, change, { actor, isLast, page: pageUrl("/audit") }));
  };
}

/** The one that was just recorded included. */
async function countChangesThisHour(on: Queryable, organizationId: string): Promise<number> {
  const [row] = await on.query<{ count: number }>(sql`
    select count(*)::int as count from audit_entry
    where organization_id = ${organizationId}::uuid and at > now() - interval '1 hour'
      and (action like 'key.%' or action in ('endpoint.created', 'endpoint.url_changed', 'endpoint.deleted',
        'endpoint.secret_rotated'))`);
  return row?.count ?? 0;
}

function accessChangeMail(
  to: string,
  { action, subjectName }: AccessChange,
  { actor, page, isLast }: { actor: string; page: string; isLast: boolean },
): NewMail {
  const title = mailTitles[action];
  const composed = composeMail({
    title,
    paragraphs: [
      `${title} in your organisation: ${subjectName}. It was done by ${actor}.`,
      "If you do not recognise this, revoke the key or pause the endpoint in the console, and ask the other owners.",
      ...(isLast
        ? ["We send no more mails of this kind within this hour. The audit log lists every change."]
        : []),
    ],
    action: { label: "Open the audit log", url: page },
    footnote: "You receive this as an owner of your organisation.",
  });
  return { to, kind: "access_changed", subject: `${title}: ${subjectName}`, ...composed };
}
