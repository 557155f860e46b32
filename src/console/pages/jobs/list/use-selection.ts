/** The selected jobs, by Marking Number, across all pages of the table. */
import { useEffect, useRef, useState } from "react";

export interface Selection {
  selected: ReadonlySet<string>;
  toggle: (markingNumber: string) => void;
  /** Selects or deselects the jobs of the page from the one toggled last to this one. */
  toggleRange: (markingNumber: string, page: readonly string[]) => void;
  /** Selects all jobs of a page, or deselects them if all are selected. */
  togglePage: (markingNumbers: readonly string[]) => void;
  clear: () => void;
}

/** Of the list that was left last. */
let kept: { list: string; selected: ReadonlySet<string> } | null = null;

/** `list`: names the list with its filters. Its selection is there again when the user comes back, for example from a job. */
export function useSelection(list: string): Selection {
  const [selected, setSelected] = useState<ReadonlySet<string>>(() =>
    kept?.list === list ? kept.selected : new Set(),
  );
  const toggledLast = useRef<string>(null);
  useEffect(() => {
    kept = { list, selected };
  }, [list, selected]);

  const toggle = (markingNumber: string): void => {
    toggledLast.current = markingNumber;
    setSelected((former) => former.symmetricDifference(new Set([markingNumber])));
  };
  return {
    selected,
    toggle,
    toggleRange(markingNumber, page) {
      const [from, to] = [page.indexOf(toggledLast.current ?? ""), page.indexOf(markingNumber)];
      if (from === -1 || to === -1) {
        toggle(markingNumber);
        return;
      }
      toggledLast.current = markingNumber;
      const range = new Set(page.slice(Math.min(from, to), Math.max(from, to) + 1));
      setSelected((former) => (former.has(markingNumber) ? former.difference(range) : former.union(range)));
    },
    togglePage: (page) =>
      setSelected((former) => {
        const all = new Set(page);
        return all.isSubsetOf(former) ? former.difference(all) : former.union(all);
      }),
    clear: () => setSelected(new Set()),
  };
}
