/** The filter of the mail outbox in the URL. */
import { enumParam, type RawSearch } from "../../../app/search-params.ts";
import type { MailStatus } from "../../../generated/mail-outbox.ts";

const STATUS_VALUES = ["pending", "sent", "failed", "stored"] as const;

export interface MailSearch {
  status?: (typeof STATUS_VALUES)[number] | undefined;
}

export function parseMailSearch(search: RawSearch): MailSearch {
  return { status: enumParam(search["status"], STATUS_VALUES) };
}

export function toMailStatus({ status }: MailSearch): MailStatus | undefined {
  return status?.toUpperCase() as MailStatus | undefined;
}
