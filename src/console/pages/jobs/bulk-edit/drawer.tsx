/** Edits many jobs at once, with a preview before anything changes. */
import { useUnsavedInput } from "../../../app/interaction/unsaved-changes.tsx";
import { Dialog } from "../../../components/dialogs/dialog.tsx";
import { formatCount } from "../job.labels.ts";
import { BulkEditFieldsStep } from "./fields.step.tsx";
import { BulkEditPreviewStep, RejectedRows } from "./preview.step.tsx";
import classes from "../list/jobs.module.css";
import type { ReferenceData } from "../use-reference-data.ts";
import { useBulkEdit } from "./use-bulk-edit.ts";
import { useFieldEditor } from "./use-field-editor.ts";
import { Button, Stack } from "@mantine/core";
import { IconCheck } from "@tabler/icons-react";
import { focusOnMount } from "../../../app/interaction/focus-on-mount.ts";
import type { BulkEditResult } from "./plan.ts";
import { Alert } from "../../../components/status/alert.tsx";

interface BulkEditDrawerProps {
  opened: boolean;
  markingNumbers: readonly string[];
  referenceData: ReferenceData;
  onClose: () => void;
  /** Called after jobs were changed. */
  onApplied: () => void;
}

export function BulkEditDrawer(props: BulkEditDrawerProps) {
  const { opened, markingNumbers, onClose } = props;
  return (
    <Dialog
      isDrawer
      opened={opened}
      onClose={onClose}
      className={classes.drawer}
      size="lg"
      title={`Edit ${formatCount(markingNumbers.length, "job")}`}
    >
      <BulkEditSteps {...props} />
    </Dialog>
  );
}

/** Mounted again each time the drawer opens. */
function BulkEditSteps({ markingNumbers, referenceData, onClose, onApplied }: BulkEditDrawerProps) {
  const bulkEdit = useBulkEdit(markingNumbers, onApplied);
  const fieldEditor = useFieldEditor();
  const { step } = bulkEdit;
  useUnsavedInput(() => {
    if (bulkEdit.isBusy) return "locked";
    return step.kind !== "done" && fieldEditor.names.length > 0 ? "changed" : "clean";
  });
  if (step.kind === "preview")
    return <BulkEditPreviewStep bulkEdit={bulkEdit} plan={step.plan} labels={referenceData.labels} />;
  if (step.kind === "done") return <BulkEditResultStep outcome={step.outcome} onClose={onClose} />;
  return <BulkEditFieldsStep bulkEdit={bulkEdit} fieldEditor={fieldEditor} referenceData={referenceData} />;
}

function BulkEditResultStep({
  outcome: { updated, unchanged, failed },
  onClose,
}: {
  outcome: BulkEditResult;
  onClose: () => void;
}) {
  return (
    <Stack>
      <Alert
        role="status"
        guide={null}
        color="spruce"
        icon={<IconCheck aria-hidden="true" />}
        title={`${formatCount(updated, "job")} changed`}
      >
        {unchanged > 0 && `${formatCount(unchanged, "job")} already matched. `}
        The jobs are still selected.
      </Alert>
      <RejectedRows rows={failed} title={`${formatCount(failed.length, "job")} couldn’t be changed`} />
      <div className={classes.actions}>
        <Button onClick={onClose} ref={focusOnMount}>
          Done
        </Button>
      </div>
    </Stack>
  );
}
