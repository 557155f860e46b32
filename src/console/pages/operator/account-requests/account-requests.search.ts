/** Which requests the list shows, as its address says it. */
import { enumParam, type RawSearch } from "../../../app/search-params.ts";
import type { AccountRequestStatus } from "../../../generated/account-requests.ts";

/** Absent: those that wait for an operator. */
const STATUS_FILTERS = ["asked", "approved", "registered", "rejected", "all"] as const;

export interface AccountRequestsSearch {
  status?: (typeof STATUS_FILTERS)[number] | undefined;
}

export function parseAccountRequestsSearch(search: RawSearch): AccountRequestsSearch {
  return { status: enumParam(search["status"], STATUS_FILTERS) };
}

/** Undefined: all of them. */
export function toStatuses({ status }: AccountRequestsSearch): AccountRequestStatus[] | undefined {
  if (status === "all") return undefined;
  return [(status ?? "pending").toUpperCase() as AccountRequestStatus];
}
