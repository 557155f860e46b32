/** Something longer, folded away behind its title. */
import { IconChevronRight } from "@tabler/icons-react";
import type { ReactNode } from "react";
import classes from "./fold.module.css";

interface FoldProps {
  title: string;
  /** Unfolded from the start. */
  isOpen?: boolean;
  children: ReactNode;
}

export function Fold({ title, isOpen = false, children }: FoldProps) {
  return (
    <details className={classes.root} open={isOpen}>
      <summary>
        <IconChevronRight size={15} aria-hidden="true" />
        {title}
      </summary>
      <div className={classes.content}>{children}</div>
    </details>
  );
}
