/** Shows the progress of an export and saves the file at its end. */
import { Button, Group, Progress, Stack, Text } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { describeError } from "../../../app/api/describe-error.ts";
import { formatCount, formatNumber } from "../../../app/formats.ts";
import { notify } from "../../../app/interaction/notify.tsx";
import type { LeaveQuestion } from "../../../app/interaction/leave-question.ts";
import { useUnsavedInput } from "../../../app/interaction/unsaved-changes.tsx";
import { Dialog } from "../../../components/dialogs/dialog.tsx";
import { FormAlert } from "../../../components/forms/form-alert.tsx";
import { useExport, type ExportPlan } from "./use-export.ts";

interface ExportDialogProps {
  /** Null while no export runs. */
  plan: ExportPlan | null;
  /** Undefined if the jobs are not counted. */
  total: number | undefined;
  onClose: () => void;
}

export function ExportDialog({ plan, ...run }: ExportDialogProps) {
  const [attempt, setAttempt] = useState(0);
  return (
    <Dialog opened={plan !== null} onClose={run.onClose} title="Exporting jobs">
      {plan && <ExportRun key={attempt} plan={plan} {...run} onRetry={() => setAttempt(attempt + 1)} />}
    </Dialog>
  );
}

const stopQuestion: LeaveQuestion = {
  title: "Stop the export?",
  text: "No file is saved.",
  stay: "Continue",
  leave: "Stop export",
};

type ExportRunProps = ExportDialogProps & { plan: ExportPlan; onRetry: () => void };

function ExportRun({ plan, total, onClose, onRetry }: ExportRunProps) {
  const state = useExport(plan);
  useUnsavedInput(() => (state.kind === "running" ? stopQuestion : "clean"));
  const close = useRef(onClose);
  useEffect(() => {
    close.current = onClose;
  });
  const exported = state.kind === "done" ? state.count : null;
  useEffect(() => {
    if (exported === null) return;
    notify(`${formatCount(exported, "job")} exported to ${plan.fileName}.`);
    close.current();
  }, [exported, plan]);

  if (state.kind === "failed")
    return (
      <Stack>
        <FormAlert failure={describeError(state.error)} />
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Close
          </Button>
          <Button onClick={onRetry}>Try again</Button>
        </Group>
      </Stack>
    );
  const { count } = state;
  return (
    <Stack>
      <Progress.Root size="lg">
        <Progress.Section value={total ? Math.min(100, (count / total) * 100) : 0} aria-label="Progress" />
      </Progress.Root>
      <Text fz="sm" role="status">
        {total === undefined
          ? formatCount(count, "job")
          : `${formatNumber(count)} of ${formatCount(total, "job")}`}
      </Text>
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
      </Group>
    </Stack>
  );
}
