/** The changed fields of a job, with old and new values. */
import { VisuallyHidden } from "@mantine/core";
import { IconArrowRight } from "@tabler/icons-react";
import { Clamped } from "../../components/display/clamped.tsx";
import classes from "./change.list.module.css";
import { fieldLabel } from "./job.fields.ts";
import { formatValue, isEmptyValue, type ReferenceLabels } from "./job.labels.ts";

export interface JobFieldChange {
  readonly field: string;
  readonly from: unknown;
  readonly to: unknown;
}

interface ChangeListProps {
  changes: readonly JobFieldChange[];
  labels: ReferenceLabels;
  /** True for the first event of a job, which has no old values. */
  isCreation?: boolean;
}

export function ChangeList({ changes, labels, isCreation = false }: ChangeListProps) {
  return (
    <ul className={classes.root}>
      {changes.map((change) => (
        <li key={change.field}>
          <Clamped
            text={[change.from, change.to].map((value) => formatValue(change.field, value, labels)).join(" ")}
          >
            <span className={classes.field}>{fieldLabel(change.field)}</span>{" "}
            <ChangeText change={change} labels={labels} isCreation={isCreation} />
          </Clamped>
        </li>
      ))}
    </ul>
  );
}

interface ChangeTextProps {
  change: JobFieldChange;
  labels: ReferenceLabels;
  isCreation: boolean;
}

/** "Open → Assigned", "set to Swift Couriers" or "cleared (was fragile)". */
function ChangeText({ change: { field, from, to }, labels, isCreation }: ChangeTextProps) {
  const previous = formatValue(field, from, labels);
  const next = <strong className={classes.newValue}>{formatValue(field, to, labels)}</strong>;
  if (isCreation) return next;
  if (isEmptyValue(from)) return <>set to {next}</>;
  if (isEmptyValue(to)) return <>cleared (was {previous})</>;
  return (
    <>
      {previous} <IconArrowRight size={13} className={classes.arrow} aria-hidden="true" />
      <VisuallyHidden>changed to</VisuallyHidden> {next}
    </>
  );
}
