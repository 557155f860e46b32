/** Which jobs are ticked, by Marking Number, on whatever page of the table. */
import { useState } from "react";

export interface Selection {
  chosen: ReadonlySet<string>;
  toggle: (markingNumber: string) => void;
  /** Ticks all of a page, or none where all are ticked. */
  togglePage: (markingNumbers: readonly string[]) => void;
  clear: () => void;
}

export function useSelection(): Selection {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  return {
    chosen,
    toggle: (markingNumber) => setChosen((former) => former.symmetricDifference(new Set([markingNumber]))),
    togglePage: (page) =>
      setChosen((former) => {
        const all = new Set(page);
        return all.isSubsetOf(former) ? former.difference(all) : former.union(all);
      }),
    clear: () => setChosen(new Set()),
  };
}
