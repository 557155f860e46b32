/** A status as a coloured dot and a label, so that colour is never the only sign. */
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
