/** The steps of a run, with those that were applied, and a button that cancels it. */
import { formatCount } from "../../app/formats.ts";
import { useMutation } from "@apollo/client/react";
import { Button, Group, Text } from "@mantine/core";
import { IconCheck } from "@tabler/icons-react";
import { useState } from "react";
import { payloadOrThrow } from "../../app/api/user-errors.ts";
import { notify, notifyError } from "../../app/interaction/notify.tsx";
import { Timestamp } from "../../components/display/timestamp.tsx";
import type { JobRowFragment } from "../../generated/job-row.ts";
import { CancelTestRunDocument } from "../../generated/simulator.ts";
import { useReferenceData } from "../jobs/use-reference-data.ts";
import { appliedSteps, type StartedRun } from "./run.progress.ts";
import classes from "./simulator.module.css";

interface RunStepsProps {
  run: StartedRun;
  job: JobRowFragment;
  onCancelled: () => void;
}

export function RunSteps({ run, job, onCancelled }: RunStepsProps) {
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
          <Group gap="sm">
            <Text fz="sm" c="dimmed">
              Ends <Timestamp value={run.endsAt} display="precise" />
            </Text>
            <CancelRun markingNumber={run.markingNumber} onCancelled={onCancelled} />
          </Group>
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

function CancelRun({ markingNumber, onCancelled }: { markingNumber: string; onCancelled: () => void }) {
  const [cancel] = useMutation(CancelTestRunDocument);
  const [isBusy, setBusy] = useState(false);
  const cancelRun = async (): Promise<void> => {
    setBusy(true);
    try {
      const { data } = await cancel({ variables: { input: { markingNumber } } });
      const { run } = payloadOrThrow(data?.cancelTestRun);
      notify(`Run cancelled. ${formatCount(run?.steps.length ?? 0, "step")} not applied.`);
      onCancelled();
    } catch (error) {
      notifyError(error);
      setBusy(false);
    }
  };
  return (
    <Button variant="default" size="compact-xs" loading={isBusy} onClick={() => void cancelRun()}>
      Cancel run
    </Button>
  );
}
