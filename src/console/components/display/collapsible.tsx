/** Content that expands below its title. */
import { IconChevronRight } from "@tabler/icons-react";
import type { ReactNode } from "react";
import classes from "./collapsible.module.css";

interface CollapsibleProps {
  title: string;
  /** Initially expanded. */
  isOpen?: boolean;
  children: ReactNode;
}

export function Collapsible({ title, isOpen = false, children }: CollapsibleProps) {
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
