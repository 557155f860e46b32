/** The whole file checked and counted, with nothing changed: what would happen, and what is wrong. */
import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import type { ChosenFile } from "./import-file.step.tsx";
import { CountList, ProblemTable, RunningImport, SampleRows, UnfinishedImport } from "./import.parts.tsx";
import { StepTitle } from "./import.steps.tsx";
import { rowsOf, type ImportPlan, type ImportReport } from "./import.wire.ts";
import { useImport } from "./use-import.ts";

interface PreviewStepProps {
  chosen: ChosenFile;
  plan: ImportPlan;
  onBack: () => void;
  onConfirm: () => void;
}

export function PreviewStep({ chosen, plan, onBack, onConfirm }: PreviewStepProps) {
  const { run, again } = useImport(chosen.file, plan, true);
  const report = run.kind === "done" ? run.report : null;
  return (
    <Stack gap="lg">
      <StepTitle key={run.kind}>
        {run.kind === "running" ? "Checking every row" : "What would happen"}
      </StepTitle>
      {run.kind === "running" && (
        <RunningImport file={chosen.file} progress={run.progress} words="Nothing is changed yet." />
      )}
      {report && <CountList counts={report.counts} isDryRun />}
      {report && <Verdict report={report} />}
      {run.kind === "failed" && <UnfinishedImport run={run} isDryRun onAgain={again} />}
      <Group justify="space-between">
        <Button variant="default" onClick={onBack}>
          Back to the columns
        </Button>
        {report?.stopped === null && (
          <Button disabled={soundRows(report) === 0} onClick={onConfirm}>
            {confirmWords(report)}
          </Button>
        )}
      </Group>
      {report && <SampleRows head={chosen.head} plan={plan} />}
      {report && <ProblemTable report={report} fileName={plan.fileName} first={10} />}
    </Stack>
  );
}

/** What to know before going on. */
function Verdict({ report: { counts, stopped } }: { report: ImportReport }) {
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

function soundRows({ counts }: ImportReport): number {
  return rowsOf(counts) - counts.failed;
}

function confirmWords(report: ImportReport): string {
  const sound = soundRows(report);
  if (sound === 0) return "Nothing to import";
  return sound === 1 ? "Import 1 row" : `Import ${sound.toLocaleString("en")} rows`;
}
