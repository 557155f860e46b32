/** What a change does, field by field: from what to what. */
import { VisuallyHidden } from "@mantine/core";
import { IconArrowRight } from "@tabler/icons-react";
import classes from "./change.list.module.css";
import { fieldLabel } from "./job.fields.ts";
import { formatValue, NO_VALUE_LABEL, type ReferenceLabels } from "./job.labels.ts";

export interface JobFieldChange {
  readonly field: string;
  readonly from: unknown;
  readonly to: unknown;
}

interface ChangeListProps {
  changes: readonly JobFieldChange[];
  labels: ReferenceLabels;
  /** Before it there was nothing of which to tell. */
  isCreation?: boolean;
}

export function ChangeList({ changes, labels, isCreation = false }: ChangeListProps) {
  return (
    <ul className={classes.root}>
      {changes.map(({ field, from, to }) => (
        <li key={field}>
          <span className={classes.field}>{fieldLabel(field)}</span>{" "}
          {!isCreation && <PreviousValue words={formatValue(field, from, labels)} />}
          <ChangedValue words={formatValue(field, to, labels)} isNew />
        </li>
      ))}
    </ul>
  );
}

function PreviousValue({ words }: { words: string }) {
  return (
    <>
      <ChangedValue words={words} /> <IconArrowRight size={13} className={classes.arrow} aria-hidden="true" />
      <VisuallyHidden>becomes</VisuallyHidden>{" "}
    </>
  );
}

function ChangedValue({ words, isNew = false }: { words: string; isNew?: boolean }) {
  return (
    <span
      className={classes.value}
      data-nothing={words === NO_VALUE_LABEL || undefined}
      data-new={isNew || undefined}
    >
      {words}
    </span>
  );
}
