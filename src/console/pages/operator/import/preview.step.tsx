/** The whole file checked and counted, with nothing changed: what would happen, and what is wrong. */
import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import type { ChosenFile } from "./file.step.tsx";
import { CountList, ProblemTable, RunningImport, SampleRows, UnfinishedImport } from "./report.tsx";
import { StepTitle } from "./steps.tsx";
import { totalRows, type ImportPlan, type ImportReport } from "./import-api.ts";
import { useImport } from "./use-import.ts";

interface PreviewStepProps {
  chosen: ChosenFile;
  plan: ImportPlan;
  onBack: () => void;
  onConfirm: () => void;
}

export function PreviewStep({ chosen, plan, onBack, onConfirm }: PreviewStepProps) {
  const { run, restart } = useImport(chosen.file, plan, true);
  const report = run.kind === "done" ? run.report : null;
  return (
    <Stack gap="lg">
      <StepTitle key={run.kind}>
        {run.kind === "running" ? "Checking every row" : "What would happen"}
      </StepTitle>
      {run.kind === "running" && (
        <RunningImport file={chosen.file} progress={run.progress} hint="Nothing is changed yet." />
      )}
      {report && <CountList counts={report.counts} isDryRun />}
      {report && <PreviewAlert report={report} />}
      {run.kind === "failed" && <UnfinishedImport run={run} isDryRun onRestart={restart} />}
      <Group justify="space-between">
        <Button variant="default" onClick={onBack}>
          Back to the columns
        </Button>
        {report?.stopped === null && (
          <Button disabled={validRowCount(report) === 0} onClick={onConfirm}>
            {confirmLabel(report)}
          </Button>
        )}
      </Group>
      {report && <SampleRows head={chosen.sample} plan={plan} />}
      {report && <ProblemTable report={report} fileName={plan.fileName} first={10} />}
    </Stack>
  );
}

/** What to know before going on. */
function PreviewAlert({ report: { counts, stopped } }: { report: ImportReport }) {
  if (stopped !== null) {
    return (
      <Alert color="red" title="The file could not be checked to its end" role="alert">
        {stopped.message}.
      </Alert>
    );
  }
  if (counts.failed === 0) return null;
  return (
    <Text>
      {counts.failed === 1
        ? "The row with a mistake is"
        : `The ${counts.failed.toLocaleString("en")} rows with mistakes are`}{" "}
      left out. You can mend the file and import it again: what is in already stays unchanged.
    </Text>
  );
}

function validRowCount({ counts }: ImportReport): number {
  return totalRows(counts) - counts.failed;
}

function confirmLabel(report: ImportReport): string {
  const count = validRowCount(report);
  if (count === 0) return "Nothing to import";
  return count === 1 ? "Import 1 row" : `Import ${count.toLocaleString("en")} rows`;
}
