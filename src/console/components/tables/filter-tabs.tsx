/** A filter as a row of links with optional counts, or of buttons. */
import { formatNumber } from "../../app/formats.ts";
import { createLink } from "@tanstack/react-router";
import type { ComponentPropsWithRef, ReactNode } from "react";
import classes from "./filter-tabs.module.css";

/** `label` names the filter for screen readers. Children: `FilterTab`s. */
export function FilterTabs({ label, children }: { label: string; children: ReactNode }) {
  return (
    <nav aria-label={label} className={classes.root}>
      {children}
    </nav>
  );
}

/** The same as buttons that are pressed or not. `label` is also shown. Children: `FilterButton`s. */
export function FilterButtons({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div role="group" aria-label={label} className={classes.root}>
      <span className={classes.label} aria-hidden="true">
        {label}
      </span>
      {children}
    </div>
  );
}

interface FilterButtonProps extends ComponentPropsWithRef<"button"> {
  isActive: boolean;
}

export function FilterButton({ isActive, ...button }: FilterButtonProps) {
  return (
    <button
      {...button}
      type="button"
      className={classes.tab}
      aria-pressed={isActive}
      data-status={isActive ? "active" : undefined}
    />
  );
}

interface FilterTabProps extends ComponentPropsWithRef<"a"> {
  /** No number is shown for null, undefined and 0. */
  count?: number | null | undefined;
}

/** Needs `activeOptions={{ exact: true }}`, because the URL of the unfiltered tab is a prefix of the others. */
export const FilterTab = createLink(({ count, children, ...link }: FilterTabProps) => (
  <a {...link} className={classes.tab}>
    {children}
    {typeof count === "number" && count > 0 && <span className={classes.count}>{formatNumber(count)}</span>}
  </a>
));
