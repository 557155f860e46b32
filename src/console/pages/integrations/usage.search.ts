/** How many days the usage goes back, as its address says it. */
import { wholeNumber, type RawSearch } from "../../app/search.ts";

export const spans = [7, 14, 30] as const;

export interface UsageSearch {
  days?: number | undefined;
}

export function usageSearch(search: RawSearch): UsageSearch {
  return { days: wholeNumber(search["days"], 1, 30) };
}
