/** The third step: a dry run of the whole file. */
import { formatNumber } from "../../../app/formats.ts";
import { Button, Group, Stack, Text } from "@mantine/core";
import { Alert } from "../../../components/status/alert.tsx";
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
      <StepTitle key={run.kind}>{run.kind === "running" ? "Checking all rows" : "Preview"}</StepTitle>
      {run.kind === "running" && (
        <RunningImport file={chosen.file} progress={run.progress} hint="Nothing has been changed yet." />
      )}
      {report && <CountList counts={report.counts} isDryRun />}
      {report && <PreviewAlert report={report} />}
      {run.kind === "failed" && <UnfinishedImport run={run} isDryRun onRestart={restart} />}
      <Group justify="space-between">
        <Button variant="default" onClick={onBack}>
          Back to columns
        </Button>
        {report?.stopped === null && (
          <Button disabled={validRowCount(report) === 0} onClick={onConfirm}>
            {confirmLabel(report)}
          </Button>
        )}
      </Group>
      {report && <SampleRows sample={chosen.sample} plan={plan} />}
      {report && <ProblemTable report={report} plan={plan} first={10} />}
    </Stack>
  );
}

/** Reports skipped rows, or an incomplete check. */
function PreviewAlert({ report: { counts, stopped } }: { report: ImportReport }) {
  if (stopped !== null) {
    return (
      <Alert color="red" title="The file could not be checked completely" role="alert" guide="screen">
        {stopped.message}.
      </Alert>
    );
  }
  if (counts.failed === 0) return null;
  return (
    <Text>
      {counts.failed === 1
        ? "1 row has errors and will be skipped."
        : `${formatNumber(counts.failed)} rows have errors and will be skipped.`}{" "}
      You can fix the file and import it again: rows that are already imported stay unchanged.
    </Text>
  );
}

function validRowCount({ counts }: ImportReport): number {
  return totalRows(counts) - counts.failed;
}

function confirmLabel(report: ImportReport): string {
  const count = validRowCount(report);
  if (count === 0) return "Nothing to import";
  return count === 1 ? "Import 1 row" : `Import ${formatNumber(count)} rows`;
}
