/** The last step: the import itself and its result. */
import { formatNumber } from "../../../app/formats.ts";
import { Button, Group, Stack, Text } from "@mantine/core";
import { IconCheck } from "@tabler/icons-react";
import type { LeaveQuestion } from "../../../app/interaction/leave-question.ts";
import { useUnsavedInput } from "../../../app/interaction/unsaved-changes.tsx";
import { ButtonLink } from "../../../components/layout/links.tsx";
import { Alert } from "../../../components/status/alert.tsx";
import type { ChosenFile } from "./file.step.tsx";
import { CountList, ProblemTable, RunningImport, UnfinishedImport } from "./report.tsx";
import { StepTitle } from "./steps.tsx";
import { totalRows, type ImportPlan, type ImportReport } from "./import-api.ts";
import { useImport, type ImportRun } from "./use-import.ts";

interface ResultStepProps {
  chosen: ChosenFile;
  plan: ImportPlan;
  onRestart: () => void;
}

const titles: Record<ImportRun["kind"], string> = {
  running: "Importing",
  done: "Import finished",
  failed: "Import failed",
  cancelled: "Import cancelled",
};

const stopQuestion: LeaveQuestion = {
  title: "Stop the import?",
  text: "The import is still running. If you leave this page, it stops. Rows that are already imported stay.",
  stay: "Continue",
  leave: "Stop and leave",
};

export function ResultStep({ chosen, plan, onRestart }: ResultStepProps) {
  const { run, cancel, restart } = useImport(chosen.file, plan, false);
  const isRunning = run.kind === "running";
  useUnsavedInput(() => (isRunning ? stopQuestion : "clean"));
  return (
    <Stack gap="lg">
      <StepTitle key={run.kind}>{titles[run.kind]}</StepTitle>
      {run.kind === "running" && (
        <>
          <RunningImport
            file={chosen.file}
            progress={run.progress}
            hint="Stay on this page. If you cancel, rows that are already imported stay."
          />
          <Group>
            <Button variant="default" onClick={cancel}>
              Cancel
            </Button>
          </Group>
        </>
      )}
      {run.kind === "done" && <Result report={run.report} plan={plan} onRetry={restart} />}
      {(run.kind === "failed" || run.kind === "cancelled") && (
        <UnfinishedImport run={run} isDryRun={false} onRestart={restart} />
      )}
      {!isRunning && (
        <Group>
          <ButtonLink to="/jobs" variant="default">
            View jobs
          </ButtonLink>
          <Button variant="default" onClick={onRestart}>
            Import another file
          </Button>
        </Group>
      )}
    </Stack>
  );
}

interface ResultProps {
  report: ImportReport;
  plan: ImportPlan;
  onRetry: () => void;
}

function Result({ report, plan, onRetry }: ResultProps) {
  const { counts, stopped } = report;
  return (
    <>
      {stopped === null ? (
        counts.failed === 0 && (
          <Alert icon={<IconCheck aria-hidden="true" />} role="status" guide={null}>
            {totalRows(counts) === 1
              ? "The row was imported."
              : `All ${formatNumber(totalRows(counts))} rows were imported.`}
          </Alert>
        )
      ) : (
        <Alert color="red" title="The import stopped early" role="alert" guide="screen">
          <Text fz="sm">
            {stopped.message}. The rows counted below were imported. You can import the same file again: rows
            that are already imported stay unchanged.
          </Text>
          <Button variant="default" size="compact-sm" mt="sm" onClick={onRetry}>
            Import again
          </Button>
        </Alert>
      )}
      <CountList counts={counts} isDryRun={false} />
      <ProblemTable report={report} plan={plan} first={50} />
    </>
  );
}
