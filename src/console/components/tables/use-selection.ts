/** The selected rows of a table, by id or Marking Number, across all its pages. */
import { useEffect, useRef, useState } from "react";

export interface Selection {
  selected: ReadonlySet<string>;
  toggle: (row: string) => void;
  /** Selects or deselects the rows of the page from the one toggled last to this one. */
  toggleRange: (row: string, page: readonly string[]) => void;
  /** Selects all rows of a page, or deselects them if all are selected. */
  togglePage: (rows: readonly string[]) => void;
  clear: () => void;
}

/** Of the list that was left last. */
let kept: { list: string; selected: ReadonlySet<string> } | null = null;

/** `list`: names the list with its filters. Its selection is there again when the user comes back, for example from the page of a row. */
export function useSelection(list: string): Selection {
  const [selected, setSelected] = useState<ReadonlySet<string>>(() =>
    kept?.list === list ? kept.selected : new Set(),
  );
  const toggledLast = useRef<string>(null);
  useEffect(() => {
    kept = { list, selected };
  }, [list, selected]);

  const toggle = (row: string): void => {
    toggledLast.current = row;
    setSelected((former) => former.symmetricDifference(new Set([row])));
  };
  return {
    selected,
    toggle,
    toggleRange(row, page) {
      const [from, to] = [page.indexOf(toggledLast.current ?? ""), page.indexOf(row)];
      if (from === -1 || to === -1) {
        toggle(row);
        return;
      }
      toggledLast.current = row;
      const range = new Set(page.slice(Math.min(from, to), Math.max(from, to) + 1));
      setSelected((former) => (former.has(row) ? former.difference(range) : former.union(range)));
    },
    togglePage: (page) =>
      setSelected((former) => {
        const all = new Set(page);
        return all.isSubsetOf(former) ? former.difference(all) : former.union(all);
      }),
    clear: () => setSelected(new Set()),
  };
}
