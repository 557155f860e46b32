/** Which requests the list shows, as its address says it. */
import { oneOf, type RawSearch } from "../../app/search.ts";
import type { AccountRequestStatus } from "../../generated/account-requests.ts";

/** Absent: those that wait for an operator. */
const listed = ["asked", "approved", "registered", "rejected", "all"] as const;

export interface AccountRequestsSearch {
  status?: (typeof listed)[number] | undefined;
}

export function accountRequestsSearch(search: RawSearch): AccountRequestsSearch {
  return { status: oneOf(search["status"], listed) };
}

/** Undefined: all of them. */
export function statusesOf({ status }: AccountRequestsSearch): AccountRequestStatus[] | undefined {
  if (status === "all") return undefined;
  return [(status ?? "pending").toUpperCase() as AccountRequestStatus];
}
