/** The steps of a run, with those that were applied. */
import { Group, Text } from "@mantine/core";
import { IconCheck } from "@tabler/icons-react";
import { Timestamp } from "../../components/display/timestamp.tsx";
import type { JobRowFragment } from "../../generated/job-row.ts";
import { useReferenceData } from "../jobs/use-reference-data.ts";
import { appliedSteps, type StartedRun } from "./run.progress.ts";
import classes from "./simulator.module.css";

export function RunSteps({ run, job }: { run: StartedRun; job: JobRowFragment }) {
  const { labels } = useReferenceData();
  const applied = appliedSteps(run, job);
  const isDone = applied === run.steps.length;
  return (
    <div>
      <Group justify="space-between" gap="xs" mb="xs">
        <Text fz="sm" fw={600} role="status">
          {isDone ? "Run finished" : `${applied} of ${run.steps.length} steps applied`}
        </Text>
        {!isDone && (
          <Text fz="sm" c="dimmed">
            Ends <Timestamp value={run.endsAt} display="precise" />
          </Text>
        )}
      </Group>
      <ol className={classes.steps} aria-label="Steps of the run">
        {run.steps.map((status, index) => (
          <li
            // Steps never move, and a status may occur twice.
            // oxlint-disable-next-line react/no-array-index-key
            key={index}
            data-applied={index < applied || undefined}
            aria-current={index === applied ? "step" : undefined}
          >
            <span className={classes.mark} aria-hidden="true">
              {index < applied ? <IconCheck size={13} stroke={2.6} /> : index + 1}
            </span>
            {labels.statuses.get(status) ?? status}
          </li>
        ))}
      </ol>
    </div>
  );
}
