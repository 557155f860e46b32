/** Changes many jobs at once, after a preview: any fields, or only the due date. */
import { formatCount } from "../../../app/formats.ts";
import { Button, Stack } from "@mantine/core";
import { IconCheck } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { focusOnMount } from "../../../app/interaction/focus-on-mount.ts";
import { useUnsavedInput } from "../../../app/interaction/unsaved-changes.tsx";
import { Dialog } from "../../../components/dialogs/dialog.tsx";
import { Alert } from "../../../components/status/alert.tsx";
import { BulkEditFieldsStep } from "./fields.step.tsx";
import { BulkEditPreviewStep, RejectedRows } from "./preview.step.tsx";
import classes from "../list/jobs.module.css";
import type { ReferenceData } from "../use-reference-data.ts";
import type { BulkEditResult } from "./plan.ts";
import { RescheduleStep, useRescheduleForm } from "./reschedule.step.tsx";
import { useBulkEdit, type BulkEdit } from "./use-bulk-edit.ts";
import { useFieldEditor } from "./use-field-editor.ts";

interface BulkEditProps {
  markingNumbers: readonly string[];
  referenceData: ReferenceData;
  onClose: () => void;
  /** Called after jobs were changed. */
  onApplied: () => void;
  /** Shown with the result. */
  note?: string;
}

interface BulkEditDrawerProps extends BulkEditProps {
  /** Null if the drawer is closed. */
  action: "edit" | "reschedule" | null;
}

export function BulkEditDrawer({ action, ...props }: BulkEditDrawerProps) {
  const { markingNumbers, onClose } = props;
  const [only] = markingNumbers;
  const jobs = markingNumbers.length === 1 ? only : formatCount(markingNumbers.length, "job");
  const Steps = action === "reschedule" ? RescheduleSteps : EditSteps;
  return (
    <Dialog
      isDrawer
      opened={action !== null}
      onClose={onClose}
      className={classes.drawer}
      size="lg"
      title={`${action === "reschedule" ? "Reschedule" : "Edit"} ${jobs}`}
    >
      <Steps {...props} />
    </Dialog>
  );
}

/** Mounted again each time the drawer opens. */
function EditSteps(props: BulkEditProps) {
  const { markingNumbers, referenceData, onApplied } = props;
  const bulkEdit = useBulkEdit(markingNumbers, onApplied);
  const fieldEditor = useFieldEditor();
  return (
    <BulkEditSteps {...props} bulkEdit={bulkEdit} isChanged={fieldEditor.names.length > 0}>
      <BulkEditFieldsStep
        bulkEdit={bulkEdit}
        fieldEditor={fieldEditor}
        markingNumbers={markingNumbers}
        referenceData={referenceData}
      />
    </BulkEditSteps>
  );
}

function RescheduleSteps(props: BulkEditProps) {
  const bulkEdit = useBulkEdit(props.markingNumbers, props.onApplied);
  const form = useRescheduleForm();
  return (
    <BulkEditSteps {...props} bulkEdit={bulkEdit} isChanged={form.isDirty()}>
      <RescheduleStep bulkEdit={bulkEdit} form={form} />
    </BulkEditSteps>
  );
}

interface BulkEditStepsProps extends BulkEditProps {
  bulkEdit: BulkEdit;
  isChanged: boolean;
  /** The first step. */
  children: ReactNode;
}

function BulkEditSteps({ bulkEdit, isChanged, referenceData, onClose, note, children }: BulkEditStepsProps) {
  const { step } = bulkEdit;
  useUnsavedInput(() => {
    if (bulkEdit.isBusy) return "locked";
    return step.kind !== "done" && isChanged ? "changed" : "clean";
  });
  if (step.kind === "preview")
    return <BulkEditPreviewStep bulkEdit={bulkEdit} plan={step.plan} labels={referenceData.labels} />;
  if (step.kind === "done")
    return <BulkEditResultStep outcome={step.outcome} onClose={onClose} note={note} />;
  return children;
}

function BulkEditResultStep({
  outcome: { updated, unchanged, failed },
  onClose,
  note = "",
}: {
  outcome: BulkEditResult;
  onClose: () => void;
  note: string | undefined;
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
        {note}
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
