/** Sends one notification to the users of an organisation who want it: queues their mails and their webhook messages. */
import { composeMail, type MailContent, type MailService } from "../mail/api.ts";
import type { Transaction } from "../core/postgres/transaction.ts";
import { type Claim, claim } from "./recipients.sql.ts";

export interface NotificationEvent extends Claim {
  /** Null: nothing is sent, now or later. */
  readonly message: NotificationMessage | null;
}

/** Webhooks get the title, the paragraphs and the URL of the action: no secrets, and of a job only Marking Number, status and date. */
export interface NotificationMessage extends Omit<MailContent, "action" | "footnote" | "settings"> {
  readonly mailKind: string;
  readonly subject?: string;
  readonly action: NonNullable<MailContent["action"]>;
}

/** Call it with the transaction of the event, so that a notification is sent if and only if the event is committed. */
export type Notify = (tx: Transaction, event: NotificationEvent) => Promise<void>;

export interface NotifyDeps {
  readonly mails: Pick<MailService, "enqueue">;
  readonly pageUrl: (path: string) => string;
}

/** The console's page where users choose. */
export const SETTINGS_PAGE = "/notifications";

export function createNotify({ mails, pageUrl }: NotifyDeps): Notify {
  return async (tx, { message, ...event }) => {
    const text = message && [message.title, ...message.paragraphs, message.action.url].join("\n");
    const emails = await claim(tx, event, text);
    if (message === null) return;
    const { mailKind, ...content } = message;
    for (const email of emails)
      await mails.enqueue(tx, composeMail(email, mailKind, { ...content, settings: pageUrl(SETTINGS_PAGE) }));
  };
}
