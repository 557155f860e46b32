/** Records changes of API keys and webhook endpoints in the audit log, and mails them to the organisation's owners. */
import type { MailService } from "./service.ts";
import { composeMail, type NewMail } from "./template.ts";
import { raw } from "@mikro-orm/postgresql";
import { User } from "../organizations/api.ts";
import type { Reader } from "../core/postgres/database.ts";
import { actorDisplayName, AuditEntry, type AuditEvent, recordAuditEvent } from "../audit/api.ts";

/** The mail's title, by action. Other changes are in the audit log only. */
const mailTitles = {
  "key.created": "An API key was created",
  "key.rotated": "An API key was rotated",
  "key.revoked": "An API key was revoked",
  "endpoint.created": "A webhook endpoint was created",
  "endpoint.url_changed": "A webhook endpoint has a new URL",
  "endpoint.deleted": "A webhook endpoint was deleted",
  "endpoint.secret_rotated": "The secret of a webhook endpoint was rotated",
} as const;

type MailedAction = keyof typeof mailTitles;

export interface AccessChange extends AuditEvent {
  readonly action:
    | MailedAction
    | "endpoint.changed"
    | "endpoint.paused"
    | "endpoint.resumed"
    | "endpoint.replayed";
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

/**
 * Changes of one kind and organisation that are mailed within any hour, so that many harmless ones cannot hide one of another kind.
 * The next one causes a mail that says so, and every doubling after that. The audit log has all of them.
 */
export const MAX_NOTICES_PER_HOUR = 10;

export function createAccessChangeRecorder({ mails, pageUrl }: AccessNoticeDeps): RecordAccessChange {
  return async (on, change) => {
    const { isTest } = await recordAuditEvent(on, change);
    const { organizationId } = change;
    if (isTest || organizationId === null || !isMailed(change)) return;
    const count = await countThisHour(on, organizationId, change.action);
    if (count > MAX_NOTICES_PER_HOUR && !isSummarised(count)) return;
    const owners = await on
      .em()
      .find(User, { organization: organizationId, role: "owner" }, { filters: false });
    if (owners.length === 0) return;
    const actor =
      change.actor.type === "system" ? "a Waymark operator" : await actorDisplayName(on, change.actor);
    const [page, guide] = [pageUrl("/audit"), pageUrl("/guide/authentication#if-a-key-leaks")];
    for (const { email } of owners)
      await mails.enqueue(on, accessChangeMail(email, change, { actor, count, page, guide }));
  };
}

type MailedChange = AccessChange & { readonly action: MailedAction };

const isMailed = (change: AccessChange): change is MailedChange => change.action in mailTitles;

/** True for the 11th change within an hour, the 20th, the 40th and so on. */
const isSummarised = (count: number): boolean =>
  count === MAX_NOTICES_PER_HOUR + 1 || Number.isInteger(Math.log2(count / MAX_NOTICES_PER_HOUR));

/** Includes the change that was just recorded. */
function countThisHour(on: Reader, organizationId: string, action: MailedAction): Promise<number> {
  return on.em().count(AuditEntry, { organizationId, action, at: { $gt: raw("now() - interval '1 hour'") } });
}

function accessChangeMail(
  to: string,
  { action, subjectName }: MailedChange,
  { actor, page, guide, count }: { actor: string; page: string; guide: string; count: number },
): NewMail {
  const title = mailTitles[action];
  const isSummary = count > MAX_NOTICES_PER_HOUR;
  return composeMail(to, "access_changed", {
    subject: isSummary ? `${count} changes within an hour: ${title}` : `${title}: ${subjectName}`,
    title,
    paragraphs: [
      `${title} in your organisation: ${subjectName}. The change was made by ${actor}.`,
      "If you don't recognise this change, revoke the key or pause the endpoint in the console, and ask the other owners about it.",
      ...(isSummary
        ? [
            `This is change ${count} of this kind within an hour. You get no e-mail about each of the next ones. The audit log lists every change.`,
          ]
        : []),
    ],
    action: { label: "Open the audit log", url: page },
    ...(action.startsWith("key.") && { help: { label: "What to do if a key leaks", url: guide } }),
    footnote: "You received this e-mail because you are an owner of your organisation.",
  });
}
