/** Records changes of API keys and webhook endpoints in the audit log, and mails them to the organisation's owners. */
import type { MailService } from "./service.ts";
import { composeMail } from "./template.ts";
import { raw } from "@mikro-orm/postgresql";
import { User } from "../organizations/api.ts";
import type { Reader } from "../core/postgres/database.ts";
import { actorDisplayName, AuditEntry, type AuditEvent, recordAuditEvent } from "../audit/api.ts";

/** The mail's title, by action; null: only in the audit log. */
const mailTitles = {
  "key.created": "An API key was created",
  "key.rotated": "An API key was rotated",
  "key.revoked": "An API key was revoked",
  "endpoint.created": "A webhook endpoint was created",
  "endpoint.url_changed": "A webhook endpoint has a new URL",
  "endpoint.deleted": "A webhook endpoint was deleted",
  "endpoint.secret_rotated": "The secret of a webhook endpoint was rotated",
  "endpoint.changed": null,
  "endpoint.paused": null,
  "endpoint.resumed": null,
  "endpoint.retried": null,
  "endpoint.replayed": null,
};

export interface AccessChange extends AuditEvent {
  readonly action: keyof typeof mailTitles;
  /** For the owners to recognise the key or endpoint: the key's name, or the endpoint's host. */
  readonly subjectName: string;
}

/** Call it with the transaction of the change: the change, its audit entry and its mails commit together. */
export type RecordAccessChange = (on: Reader, change: AccessChange) => Promise<void>;

/**
 * Changes of one kind and organisation that are mailed within any hour, so that many harmless ones cannot hide one of another kind.
 * The mail about the next one says so. The audit log has all of them.
 */
export const MAX_NOTICES_PER_HOUR = 10;

/** `pageUrl` returns the URL of a page of the console or the guide. */
export function createAccessChangeRecorder({
  mails,
  pageUrl,
}: {
  mails: Pick<MailService, "enqueue">;
  pageUrl: (path: string) => string;
}): RecordAccessChange {
  return async (on, change) => {
    const { isTest } = await recordAuditEvent(on, change);
    const { organizationId, action, subjectName } = change;
    const title = mailTitles[action];
    if (isTest || organizationId === null || title === null) return;
    const lastHour = { organizationId, action, at: { $gt: raw("now() - interval '1 hour'") } };
    const count = await on.em().count(AuditEntry, lastHour);
    if (count > MAX_NOTICES_PER_HOUR + 1) return;
    const isLast = count > MAX_NOTICES_PER_HOUR;
    const actor =
      change.actor.type === "system" ? "a Waymark operator" : await actorDisplayName(on, change.actor);
    const paragraphs = [
      `${title} in your organisation: ${subjectName}. The change was made by ${actor}.`,
      "If you don't recognise this change, revoke the key or pause the endpoint in the console, and ask the other owners about it.",
    ];
    if (isLast)
      paragraphs.push(
        `This is change ${count} of this kind within an hour. You get no e-mail about the next ones in this hour. The audit log lists every change.`,
      );
    const content = {
      subject: isLast ? `${count} changes within an hour: ${title}` : `${title}: ${subjectName}`,
      title,
      paragraphs,
      action: { label: "Open the audit log", url: pageUrl("/audit") },
      ...(action.startsWith("key.") && {
        help: { label: "What to do if a key leaks", url: pageUrl("/guide/authentication#if-a-key-leaks") },
      }),
      footnote: "You received this e-mail because you are an owner of your organisation.",
    };
    const ofOwners = { organization: organizationId, role: "owner" } as const;
    const owners = await on.em().find(User, ofOwners, { filters: false });
    for (const { email } of owners) await mails.enqueue(on, composeMail(email, "access_changed", content));
  };
}
