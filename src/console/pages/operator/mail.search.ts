/** Which mails the outbox shows, as its address says it. */
import { oneOf, type RawSearch } from "../../app/search.ts";
import type { MailStatus } from "../../generated/mail-outbox.ts";

const statuses = ["waiting", "sent", "failed", "kept"] as const;

export interface MailSearch {
  status?: (typeof statuses)[number] | undefined;
}

export function mailSearch(search: RawSearch): MailSearch {
  return { status: oneOf(search["status"], statuses) };
}

export function mailStatusOf({ status }: MailSearch): MailStatus | undefined {
  return status?.toUpperCase() as MailStatus | undefined;
}
