/** The selected rows of a table, by id or Marking Number, across all its pages. */
import { useEffect, useRef, useState } from "react";

export interface Selection {
  /** Those selected one by one. */
  selected: ReadonlySet<string>;
  /** All rows of the list are selected, also those of other pages. */
  isAll: boolean;
  has: (row: string) => boolean;
  toggle: (row: string, page: readonly string[]) => void;
  /** Selects or deselects the rows of the page from the one toggled last to this one. */
  toggleRange: (row: string, page: readonly string[]) => void;
  /** Selects all rows of a page, or deselects them if all are selected. */
  togglePage: (rows: readonly string[]) => void;
  selectAll: () => void;
  clear: () => void;
}

interface Kept {
  list: string;
  selected: ReadonlySet<string>;
  isAll: boolean;
}

/** Of the list that was left last. */
let kept: Kept | null = null;

/** `list`: names the list with its filters. Its selection is there again when the user comes back, for example from the page of a row. */
export function useSelection(list: string): Selection {
  const [state, setState] = useState<Kept>(() =>
    kept?.list === list ? kept : { list, selected: new Set(), isAll: false },
  );
  const toggledLast = useRef<string>(null);
  // With another filter, "all" would be other rows.
  const isAll = state.isAll && state.list === list;
  const { selected } = state;
  useEffect(() => {
    kept = { list, selected, isAll };
  }, [list, selected, isAll]);

  /** Of all rows, only those of the page stay selected. */
  const change = (
    page: readonly string[],
    next: (former: ReadonlySet<string>) => ReadonlySet<string>,
  ): void =>
    setState((former) => ({
      list,
      isAll: false,
      selected: next(former.isAll && former.list === list ? new Set(page) : former.selected),
    }));
  const toggle = (row: string, page: readonly string[]): void => {
    toggledLast.current = row;
    change(page, (former) => former.symmetricDifference(new Set([row])));
  };
  return {
    selected,
    isAll,
    has: (row) => isAll || selected.has(row),
    toggle,
    toggleRange(row, page) {
      const [from, to] = [page.indexOf(toggledLast.current ?? ""), page.indexOf(row)];
      if (from === -1 || to === -1) {
        toggle(row, page);
        return;
      }
      toggledLast.current = row;
      const range = new Set(page.slice(Math.min(from, to), Math.max(from, to) + 1));
      change(page, (former) => (former.has(row) ? former.difference(range) : former.union(range)));
    },
    togglePage: (page) =>
      change(page, (former) => {
        const all = new Set(page);
        return all.isSubsetOf(former) ? former.difference(all) : former.union(all);
      }),
    selectAll: () => setState((former) => ({ ...former, list, isAll: true })),
    clear: () => setState({ list, selected: new Set(), isAll: false }),
  };
}
