/** The selected jobs, by Marking Number, across all pages of the table. */
import { useState } from "react";

export interface Selection {
  selected: ReadonlySet<string>;
  toggle: (markingNumber: string) => void;
  /** Selects all jobs of a page, or deselects them if all are selected. */
  togglePage: (markingNumbers: readonly string[]) => void;
  clear: () => void;
}

export function useSelection(): Selection {
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  return {
    selected,
    toggle: (markingNumber) => setSelected((former) => former.symmetricDifference(new Set([markingNumber]))),
    togglePage: (page) =>
      setSelected((former) => {
        const all = new Set(page);
        return all.isSubsetOf(former) ? former.difference(all) : former.union(all);
      }),
    clear: () => setSelected(new Set()),
  };
}
