/** What is known of something: names on the left, values on the right, as a description list. */
import type { ReactNode } from "react";
import classes from "./description-list.module.css";

export interface DescriptionItem {
  label: string;
  value: ReactNode;
}

export function DescriptionList({ facts }: { facts: readonly DescriptionItem[] }) {
  return (
    <dl className={classes.root}>
      {facts.map(({ label, value }) => (
        <div key={label} className={classes.fact}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
