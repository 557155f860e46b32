/** The period of the usage page in the URL. */
import { integerParam, type RawSearch } from "../../../app/search-params.ts";

export const DAY_SPANS = [7, 14, 30] as const;

export interface UsageSearch {
  days?: number | undefined;
}

export function parseUsageSearch(search: RawSearch): UsageSearch {
  return { days: integerParam(search["days"], 1, 30) };
}
