/** A link with filters that do not exist opens the page without them and names them in a notice. */
import { lostValues, type LostValue, type RawSearch } from "./search.ts";

/** A route's `validateSearch`: `read` returns every parameter that it knows. `defaults` are values that it leaves out. */
export function repairing<Search extends object>(
  read: (raw: RawSearch) => Search,
  defaults?: RawSearch,
): (raw: RawSearch) => Search {
  return (raw) => {
    const search = read(raw);
    tellLost(lostValues(raw, search, defaults));
    return search;
  };
}

/** In a chunk that is loaded after the first page. */
export function tellLost(lost: readonly LostValue[]): void {
  if (lost.length === 0) return;
  import("./notices.tsx").then(
    ({ tellRepairedLink }) => tellRepairedLink(lost),
    // Without the notice the page still shows which filters apply.
    () => undefined,
  );
}
