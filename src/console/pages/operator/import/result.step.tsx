/** The import itself: how far it is, then what became of it. */
import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { IconCheck } from "@tabler/icons-react";
import { useBlocker } from "@tanstack/react-router";
import { ButtonLink } from "../../../components/layout/links.tsx";
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
  done: "What was imported",
  failed: "The import broke off",
  cancelled: "The import was cancelled",
};

export function ResultStep({ chosen, plan, onRestart }: ResultStepProps) {
  const { run, cancel, restart } = useImport(chosen.file, plan, false);
  const isRunning = run.kind === "running";
  useBlocker({
    shouldBlockFn: () => !window.confirm("The import is still running. Leave the page, and stop it?"),
    enableBeforeUnload: isRunning,
    disabled: !isRunning,
  });
  return (
    <Stack gap="lg">
      <StepTitle key={run.kind}>{titles[run.kind]}</StepTitle>
      {run.kind === "running" && (
        <>
          <RunningImport
            file={chosen.file}
            progress={run.progress}
            hint="Stay on this page. What is in stays in, also if you cancel."
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
            Look at the jobs
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
          <Alert icon={<IconCheck aria-hidden="true" />} role="status">
            {totalRows(counts) === 1
              ? "The one row is in."
              : `All ${totalRows(counts).toLocaleString("en")} rows are in.`}
          </Alert>
        )
      ) : (
        <Alert color="red" title="It stopped before the end" role="alert">
          <Text fz="sm">
            {stopped.message}. What is counted here is in. You can import the same file again: what is in
            already stays unchanged.
          </Text>
          <Button variant="default" size="compact-sm" mt="sm" onClick={onRetry}>
            Import it again
          </Button>
        </Alert>
      )}
      <CountList counts={counts} isDryRun={false} />
      <ProblemTable report={report} fileName={plan.fileName} first={50} />
    </>
  );
}
