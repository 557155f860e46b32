/** What is known of a thing, fact by fact. */
import { Paper } from "@mantine/core";
import type { ReactNode } from "react";
import classes from "./description-card.module.css";

interface DescriptionCardItem {
  label: string;
  /** Null: the fact is left out. */
  value: ReactNode;
}

export function DescriptionCard({ facts, label }: { facts: readonly DescriptionCardItem[]; label: string }) {
  return (
    <Paper component="section" aria-label={label} p="lg">
      <dl className={classes.root}>
        {facts
          .filter(({ value }) => value !== null)
          .map((fact) => (
            <div key={fact.label}>
              <dt>{fact.label}</dt>
              <dd>{fact.value}</dd>
            </div>
          ))}
      </dl>
    </Paper>
  );
}
