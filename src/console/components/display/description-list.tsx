/** Labels on the left, values on the right. */
import type { ReactNode } from "react";
import classes from "./description-list.module.css";

export interface DescriptionItem {
  label: string;
  /** Items without a value (null) are skipped. */
  value: ReactNode;
}

export function DescriptionList({ items }: { items: readonly DescriptionItem[] }) {
  return (
    <dl className={classes.root}>
      {items
        .filter(({ value }) => value !== null)
        .map(({ label, value }) => (
          <div key={label} className={classes.item}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
