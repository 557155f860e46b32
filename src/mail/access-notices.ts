/** Records changes of API keys and webhook endpoints in the audit log, and mails them to the organisation's owners. */
import type { MailService } from "./mail.service.ts";
import { composeMail, type NewMail } from "./mail.template.ts";
import { raw } from "@mikro-orm/postgresql";
import { User } from "../organizations/api.ts";
import type { Reader } from "../platform/postgres/database.ts";
import { actorDisplayName, AuditEntry, type AuditEvent, recordAuditEvent } from "../audit/api.ts";

/** The mail's title, by action. */
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
  /** For the owners to recognise the key or endpoint: the key's name, or the endpoint's host. */
  readonly subjectName: string;
}

/** Call it with the transaction of the change: the change, its audit entry and its mails commit together. */
export type RecordAccessChange = (on: Reader, change: AccessChange) => Promise<void>;

export interface AccessNoticeDeps {
  mails: Pick<MailService, "enqueue">;
  /** Returns the URL of a page of the console or the guide. */
  pageUrl: (path: string) => string;
}

/** Changes per organisation that are mailed within any hour. The audit log has all of them. */
export const MAX_NOTICES_PER_HOUR = 10;

export function createAccessChangeRecorder({ mails, pageUrl }: AccessNoticeDeps): RecordAccessChange {
  return async (on, change) => {
    await recordAuditEvent(on, change);
    const { organizationId } = change;
    const changesThisHour = organizationId === null ? 0 : await countChangesThisHour(on, organizationId);
    if (changesThisHour === 0 || changesThisHour > MAX_NOTICES_PER_HOUR) return;
    const owners = await on
      .em()
      .find(User, { organization: organizationId, role: "owner" }, { filters: false });
    if (owners.length === 0) return;
    const actor =
      change.actor.type === "system" ? "a Waymark operator" : await actorDisplayName(on, change.actor);
    const isLast = changesThisHour === MAX_NOTICES_PER_HOUR;
    const [page, guide] = [pageUrl("/audit"), pageUrl("/guide/authentication#if-a-key-leaks")];
    for (const { email } of owners)
      await mails.enqueue(on, accessChangeMail(email, change, { actor, isLast, page, guide }));
  };
}

/** Includes the change that was just recorded. */
function countChangesThisHour(on: Reader, organizationId: string): Promise<number> {
  const endpointActions = Object.keys(mailTitles).filter((action) => action.startsWith("endpoint."));
  return on.em().count(AuditEntry, {
    organizationId,
    at: { $gt: raw("now() - interval '1 hour'") },
    $or: [{ action: { $like: "key.%" } }, { action: { $in: endpointActions } }],
  });
}

function accessChangeMail(
  to: string,
  { action, subjectName }: AccessChange,
  { actor, page, guide, isLast }: { actor: string; page: string; guide: string; isLast: boolean },
): NewMail {
  const title = mailTitles[action];
  return composeMail(to, "access_changed", {
    subject: `${title}: ${subjectName}`,
    title,
    paragraphs: [
      `${title} in your organisation: ${subjectName}. The change was made by ${actor}.`,
      "If you don't recognise this change, revoke the key or pause the endpoint in the console, and ask the other owners about it.",
      ...(isLast
        ? [
            `We send at most ${MAX_NOTICES_PER_HOUR} of these e-mails in an hour, so you may not get one about the next changes. The audit log lists every change.`,
          ]
        : []),
    ],
    action: { label: "Open the audit log", url: page },
    ...(action.startsWith("key.") && { help: { label: "What to do if a key leaks", url: guide } }),
    footnote: "You received this e-mail because you are an owner of your organisation.",
  });
}
