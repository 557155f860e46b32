/** The filters of the request log and the opened request in the URL. */
import { enumParam, textParam, typedIdParam, type RawSearch } from "../../../app/search-params.ts";
import type { RequestLogQueryVariables, RequestOutcome } from "../../../generated/request-log.ts";

export const requestOutcomeOptions = [
  { value: "succeeded", label: "Succeeded (2xx, 3xx)" },
  { value: "refused", label: "Rejected (4xx)" },
  { value: "failed", label: "Failed (5xx)" },
] as const;

export interface RequestsSearch {
  request_id?: string | undefined;
  outcome?: (typeof requestOutcomeOptions)[number]["value"] | undefined;
  key?: string | undefined;
  /** ID of the request shown in the drawer. */
  open?: string | undefined;
}

export function parseRequestsSearch(search: RawSearch): RequestsSearch {
  return {
    request_id: textParam(search["request_id"], 64),
    outcome: enumParam(
      search["outcome"],
      requestOutcomeOptions.map(({ value }) => value),
    ),
    key: typedIdParam(search["key"], "key"),
    open: textParam(search["open"], 64),
  };
}

export function requestsVariables({
  request_id: requestId,
  outcome,
  key,
}: RequestsSearch): Omit<RequestLogQueryVariables, "first"> {
  return { requestId, outcome: outcome?.toUpperCase() as RequestOutcome | undefined, keyId: key };
}

export function hasRequestFilters({ request_id: requestId, outcome, key }: RequestsSearch): boolean {
  return [requestId, outcome, key].some((value) => value !== undefined);
}
