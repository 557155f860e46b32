/** Changes many jobs, after a preview: any fields, or only the due date. Then a report, with an undo. */
import { formatCount } from "../../../app/formats.ts";
import { Button, CloseButton, Group, Paper, Text } from "@mantine/core";
import { useState, type ReactNode } from "react";
import type { LeaveQuestion } from "../../../app/interaction/leave-question.ts";
import { useUnsavedInput } from "../../../app/interaction/unsaved-changes.tsx";
import { Dialog } from "../../../components/dialogs/dialog.tsx";
import { mayHaveApplied } from "./bulk-requests.ts";
import { isActive } from "./chunk-run.ts";
import { BulkEditFieldsStep } from "./fields.step.tsx";
import { BulkEditPreviewStep } from "./preview.step.tsx";
import { ProgressStep } from "./progress.step.tsx";
import { ReportStep } from "./report.step.tsx";
import classes from "../list/jobs.module.css";
import type { ReferenceData } from "../use-reference-data.ts";
import { buildReport, countOf, type ChangeRun, type JobSet } from "./plan.ts";
import { RescheduleStep, useRescheduleForm } from "./reschedule.step.tsx";
import { runOf, useBulkEdit, useRunState, type BulkEdit, type BulkEditStep } from "./use-bulk-edit.ts";
import { useFieldEditor } from "./use-field-editor.ts";

interface BulkEditDrawerProps {
  /** Null if the drawer is closed. */
  action: "edit" | "reschedule" | null;
  jobs: JobSet;
  referenceData: ReferenceData;
  onClose: () => void;
  /** Called after jobs were changed. */
  onApplied: () => void;
  /** Shown with the report. */
  note?: string;
  /** Shows a line with the last change, which opens its report again. */
  hasLastChange?: boolean;
}

export function BulkEditDrawer(props: BulkEditDrawerProps) {
  const { action, jobs, onClose, hasLastChange = false } = props;
  const bulkEdit = useBulkEdit(props.onApplied);
  const [isReopened, setReopened] = useState(false);
  // The first action may be older than the code of the drawer.
  const [formerAction, setFormerAction] = useState<typeof action>(null);
  const [heading, setHeading] = useState("");
  if (action !== formerAction) {
    setFormerAction(action);
    if (action !== null) {
      setHeading(`${action === "reschedule" ? "Reschedule" : "Edit"} ${nameOf(jobs)}`);
      setReopened(false);
      bulkEdit.reset();
    }
  }
  const close = (): void => {
    runOf(bulkEdit.step)?.stop();
    if (!changeOf(bulkEdit.step)) bulkEdit.reset();
    setReopened(false);
    onClose();
  };
  const Steps = action === "reschedule" ? RescheduleSteps : EditSteps;
  return (
    <>
      <Dialog
        isDrawer
        opened={action !== null || isReopened}
        onClose={close}
        className={classes.drawer}
        size="lg"
        title={heading}
      >
        <Steps {...props} bulkEdit={bulkEdit} onClose={close} />
      </Dialog>
      {hasLastChange && action === null && !isReopened && (
        <LastChange bulkEdit={bulkEdit} onOpen={() => setReopened(true)} />
      )}
    </>
  );
}

function nameOf(jobs: JobSet): string {
  const [only] = jobs.kind === "selected" && jobs.markingNumbers.length === 1 ? jobs.markingNumbers : [];
  return only ?? formatCount(countOf(jobs), "job");
}

interface StepsProps extends BulkEditDrawerProps {
  bulkEdit: BulkEdit;
}

/** Mounted again each time the drawer opens. */
function EditSteps(props: StepsProps) {
  const { bulkEdit, jobs, referenceData } = props;
  const fieldEditor = useFieldEditor();
  return (
    <BulkEditSteps {...props} isChanged={fieldEditor.names.length > 0}>
      <BulkEditFieldsStep
        fieldEditor={fieldEditor}
        jobs={jobs}
        referenceData={referenceData}
        onPreview={(patch) => bulkEdit.check(jobs, { kind: "edit", patch })}
      />
    </BulkEditSteps>
  );
}

function RescheduleSteps(props: StepsProps) {
  const { bulkEdit, jobs } = props;
  const form = useRescheduleForm();
  return (
    <BulkEditSteps {...props} isChanged={form.isDirty()}>
      <RescheduleStep
        form={form}
        onPreview={(values) => bulkEdit.check(jobs, { kind: "reschedule", ...values })}
      />
    </BulkEditSteps>
  );
}

const stopQuestion: LeaveQuestion = {
  title: "Stop changing jobs?",
  text: "Jobs that have been changed stay changed. The others stay unchanged.",
  stay: "Keep running",
  leave: "Stop",
};

interface BulkEditStepsProps extends StepsProps {
  isChanged: boolean;
  /** The first step. */
  children: ReactNode;
}

function BulkEditSteps({ bulkEdit, isChanged, children, ...props }: BulkEditStepsProps) {
  const { step } = bulkEdit;
  useUnsavedInput(() => {
    const run = changeOf(step)?.run;
    if (run) return isActive(run.state()) ? stopQuestion : "clean";
    return isChanged ? "changed" : "clean";
  });
  if (step.kind === "check")
    return (
      <ProgressStep
        run={step.run}
        verb="Checking"
        count={({ jobs }) => jobs.length}
        total={countOf(props.jobs)}
        hint="Nothing has been changed yet."
        stopLabel="Back"
        onStop={bulkEdit.reset}
      />
    );
  if (step.kind === "preview")
    return (
      <BulkEditPreviewStep
        plan={step.plan}
        labels={props.referenceData.labels}
        onBack={bulkEdit.reset}
        onApply={() => bulkEdit.apply(step.plan)}
      />
    );
  if (step.kind === "choose") return children;
  return <RunningOrReport {...props} bulkEdit={bulkEdit} step={step} />;
}

interface RunningOrReportProps extends StepsProps {
  step: Extract<BulkEditStep, { kind: "change" | "undo" }>;
}

function RunningOrReport({ bulkEdit, step, note = "", onClose }: RunningOrReportProps) {
  const isUndo = step.kind === "undo";
  const current = isUndo ? step.undo : step.change;
  const state = useRunState(current.run);
  if (isActive(state))
    return (
      <ProgressStep
        key={step.kind}
        run={current.run}
        verb={isUndo ? "Undoing" : "Changing"}
        count={({ length }) => length}
        total={current.markingNumbers.length}
        hint="Keep this page open. Pause and Stop take effect after the request in flight."
        stopLabel="Stop"
        onStop={current.run.stop}
      />
    );
  return (
    <ReportStep
      key={`${step.kind} report`}
      report={buildReport(current, state, { mayHaveApplied, preview: isUndo ? [] : step.plan.jobs })}
      note={note}
      onUndo={isUndo ? null : () => bulkEdit.undo(step.plan, step.change)}
      onClose={onClose}
    />
  );
}

function changeOf(step: BulkEditStep): ChangeRun | null {
  if (step.kind === "undo") return step.undo;
  return step.kind === "change" ? step.change : null;
}

function LastChange({ bulkEdit, onOpen }: { bulkEdit: BulkEdit; onOpen: () => void }) {
  const { step } = bulkEdit;
  const change = changeOf(step);
  if (!change) return null;
  return <LastChangeLine bulkEdit={bulkEdit} change={change} onOpen={onOpen} />;
}

interface LastChangeLineProps {
  bulkEdit: BulkEdit;
  change: ChangeRun;
  onOpen: () => void;
}

function LastChangeLine({ bulkEdit, change, onOpen }: LastChangeLineProps) {
  const state = useRunState(change.run);
  const isUndo = bulkEdit.step.kind === "undo";
  const { changed } = buildReport(change, state, { mayHaveApplied });
  return (
    <Paper component="section" aria-label="Last change" className={classes.lastChange}>
      <Text role="status" fz="sm">
        {isActive(state)
          ? "Stopping after the request in flight…"
          : `${formatCount(changed.length, "job")} ${isUndo ? "restored" : "changed"}.`}
      </Text>
      <Group gap="xs">
        <Button variant="default" size="xs" onClick={onOpen}>
          {isUndo ? "Report" : "Report and undo"}
        </Button>
        <CloseButton aria-label="Dismiss the last change" onClick={bulkEdit.reset} />
      </Group>
    </Paper>
  );
}
