/** The filter of the account requests in the URL. */
import { enumParam, type RawSearch } from "../../../app/search-params.ts";
import type { AccountRequestStatus } from "../../../generated/account-requests.ts";

/** Without a filter, the list shows pending requests. */
const STATUS_FILTERS = ["awaiting_reply", "approved", "registered", "rejected", "all"] as const;

export interface AccountRequestsSearch {
  status?: (typeof STATUS_FILTERS)[number] | undefined;
}

export function parseAccountRequestsSearch(search: RawSearch): AccountRequestsSearch {
  return { status: enumParam(search["status"], STATUS_FILTERS) };
}

/** Undefined selects all statuses. */
export function toStatuses({ status }: AccountRequestsSearch): AccountRequestStatus[] | undefined {
  if (status === "all") return undefined;
  return [(status ?? "pending").toUpperCase() as AccountRequestStatus];
}
