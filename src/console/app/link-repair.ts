/** A link with filters that do not exist opens the page without them and names them in a notice. */
import { removedValues, type RemovedValue, type RawSearch } from "./search-params.ts";

/** A route's `validateSearch`: `read` returns every parameter that it knows. `defaults` are values that it leaves out. */
export function withRepairNotice<Search extends object>(
  parse: (raw: RawSearch) => Search,
  defaults?: RawSearch,
): (raw: RawSearch) => Search {
  return (raw) => {
    const search = parse(raw);
    notifyRemovedFilters(removedValues(raw, search, defaults));
    return search;
  };
}

/** In a chunk that is loaded after the first page. */
export function notifyRemovedFilters(removed: readonly RemovedValue[]): void {
  if (removed.length === 0) return;
  import("./interaction/toasts.tsx").then(
    ({ tellRepairedLink }) => tellRepairedLink(removed),
    // Without the notice the page still shows which filters apply.
    () => undefined,
  );
}
