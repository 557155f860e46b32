/** Which requests the log shows, and which one is opened, as its address says it. */
import { oneOf, text, typedId, type RawSearch } from "../../app/search.ts";
import type { RequestLogQueryVariables, RequestOutcome } from "../../generated/request-log.ts";

export const requestOutcomes = [
  { value: "succeeded", label: "Succeeded (2xx, 3xx)" },
  { value: "refused", label: "Refused (4xx)" },
  { value: "failed", label: "Failed (5xx)" },
] as const;

export interface RequestsSearch {
  request_id?: string | undefined;
  outcome?: (typeof requestOutcomes)[number]["value"] | undefined;
  key?: string | undefined;
  /** The request that is opened. */
  open?: string | undefined;
}

export function requestsSearch(search: RawSearch): RequestsSearch {
  return {
    request_id: text(search["request_id"], 64),
    outcome: oneOf(
      search["outcome"],
      requestOutcomes.map(({ value }) => value),
    ),
    key: typedId(search["key"], "key"),
    open: text(search["open"], 64),
  };
}

export function requestsFilter({
  request_id: requestId,
  outcome,
  key,
}: RequestsSearch): Omit<RequestLogQueryVariables, "first"> {
  return { requestId, outcome: outcome?.toUpperCase() as RequestOutcome | undefined, keyId: key };
}

export function isFiltered({ request_id: requestId, outcome, key }: RequestsSearch): boolean {
  return [requestId, outcome, key].some((value) => value !== undefined);
}
