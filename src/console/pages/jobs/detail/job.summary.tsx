/** The head of a job: its status, the day on which it is due, and why it failed. */
import { Group } from "@mantine/core";
import { useToday } from "../../../app/session/zone.ts";
import { Day } from "../../../components/display/timestamp.tsx";
import { StatusBadge } from "../../../components/status/status-badge.tsx";
import { toneOf } from "../../../components/status/tone.ts";
import type { JobRowFragment } from "../../../generated/job-row.ts";
import { dueDay, isLate } from "../job.due.ts";
import { formatValue, type ReferenceLabels } from "../job.labels.ts";
import classes from "./job.module.css";

export function JobSummary({ job, labels }: { job: JobRowFragment; labels: ReferenceLabels }) {
  const due = dueDay(job);
  const today = useToday();
  return (
    <Group component="span" gap="4px 14px">
      <StatusBadge label={job.status.label} tone={toneOf(job.status.category)} />
      <span>
        {due === null ? (
          "No due date"
        ) : (
          <>
            Due <Day value={due} />
          </>
        )}
        {isLate(job, today) && <span className={classes.late}> Late</span>}
      </span>
      {job.failureReason && (
        <span className={classes.reason}>{formatValue("failureReason", job.failureReason, labels)}</span>
      )}
    </Group>
  );
}
