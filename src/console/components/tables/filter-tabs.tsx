/** One filter of a list as a row of links, each with how many there are where that is worth knowing. */
import { createLink } from "@tanstack/react-router";
import type { ComponentPropsWithRef, ReactNode } from "react";
import classes from "./filter-tabs.module.css";

/** `label`: what is filtered, for a screen reader. Its children are `FilterTab`s. */
export function FilterTabs({ label, children }: { label: string; children: ReactNode }) {
  return (
    <nav aria-label={label} className={classes.root}>
      {children}
    </nav>
  );
}

interface FilterTabProps extends ComponentPropsWithRef<"a"> {
  /** Null or absent: not known, or not worth knowing. */
  count?: number | null | undefined;
}

/** Give it `activeOptions={{ exact: true }}`: the tab without a filter is part of every other address. */
export const FilterTab = createLink(({ count, children, ...link }: FilterTabProps) => (
  <a {...link} className={classes.tab}>
    {children}
    {typeof count === "number" && count > 0 && (
      <span className={classes.count}>{count.toLocaleString("en")}</span>
    )}
  </a>
));
