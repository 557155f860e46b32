/** A status in the colour of its category: a dot and words, so that colour alone says nothing. */
import classes from "./status-badge.module.css";

/** Categories of job statuses, and tones for everything else. */
export type Tone = "neutral" | "progress" | "success" | "attention" | "danger" | "return" | "muted";

export type StatusCategory = "OPEN" | "IN_PROGRESS" | "SUCCESS" | "ATTENTION" | "RETURN" | "CANCELLED";

const TONES: Record<StatusCategory, Tone> = {
  OPEN: "neutral",
  IN_PROGRESS: "progress",
  SUCCESS: "success",
  ATTENTION: "attention",
  RETURN: "return",
  CANCELLED: "muted",
};

export function toneOf(category: StatusCategory): Tone {
  return TONES[category];
}

export function StatusBadge({ label, tone }: { label: string; tone: Tone }) {
  return (
    <span className={classes.root} data-tone={tone}>
      <span className={classes.dot} aria-hidden="true" />
      {label}
    </span>
  );
}
