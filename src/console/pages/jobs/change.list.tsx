/** What a change does, field by field: from what to what. */
import { VisuallyHidden } from "@mantine/core";
import { IconArrowRight } from "@tabler/icons-react";
import classes from "./change.list.module.css";
import { labelOfField } from "./job.fields.ts";
import { inWords, NOTHING, type Names } from "./job.words.ts";

export interface Change {
  readonly field: string;
  readonly from: unknown;
  readonly to: unknown;
}

interface ChangeListProps {
  changes: readonly Change[];
  names: Names;
  /** Before it there was nothing of which to tell. */
  isFirst?: boolean;
}

export function ChangeList({ changes, names, isFirst = false }: ChangeListProps) {
  return (
    <ul className={classes.root}>
      {changes.map(({ field, from, to }) => (
        <li key={field}>
          <span className={classes.field}>{labelOfField(field)}</span>{" "}
          {!isFirst && <Before words={inWords(field, from, names)} />}
          <Value words={inWords(field, to, names)} isNew />
        </li>
      ))}
    </ul>
  );
}

function Before({ words }: { words: string }) {
  return (
    <>
      <Value words={words} /> <IconArrowRight size={13} className={classes.arrow} aria-hidden="true" />
      <VisuallyHidden>becomes</VisuallyHidden>{" "}
    </>
  );
}

function Value({ words, isNew = false }: { words: string; isNew?: boolean }) {
  return (
    <span
      className={classes.value}
      data-nothing={words === NOTHING || undefined}
      data-new={isNew || undefined}
    >
      {words}
    </span>
  );
}
