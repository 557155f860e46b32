/** A status in the colour of its category: a dot and words, so that colour alone says nothing. */
import classes from "./status-badge.module.css";
import type { Tone } from "./tone.ts";

export function StatusBadge({ label, tone }: { label: string; tone: Tone }) {
  return (
    <span className={classes.root} data-tone={tone}>
      <span className={classes.dot} aria-hidden="true" />
      {label}
    </span>
  );
}
