/** A link with unknown filters opens the page without them, and a toast lists them. */
import { removedValues, type RemovedValue, type RawSearch } from "./search-params.ts";

/**
 * Wraps a route's `validateSearch`. `parse` returns every parameter that it knows; `defaults` are values that it
 * omits.
 */
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

/** Loads the toasts on demand. */
export function notifyRemovedFilters(removed: readonly RemovedValue[]): void {
  if (removed.length === 0) return;
  import("./interaction/toasts.tsx").then(
    ({ notifyRepairedLink }) => notifyRepairedLink(removed),
    // The toast is optional: the page itself shows the active filters.
    () => undefined,
  );
}
