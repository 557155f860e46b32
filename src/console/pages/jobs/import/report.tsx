/** Shared parts of the import steps: progress, counts, sample rows and the list of errors. */
import { formatNumber } from "../../../app/formats.ts";
import { Button, Group, Paper, Progress, Stack, Table, Text, Title } from "@mantine/core";
import { IconBan, IconDownload } from "@tabler/icons-react";
import { useState } from "react";
import { describeError } from "../../../app/api/describe-error.ts";
import { downloadFile } from "../../../app/download.ts";
import { DataTable, type Column } from "../../../components/tables/data-table.tsx";
import { columnLabel } from "./columns.ts";
import type { FileSample } from "./file-sample.ts";
import classes from "./import.module.css";
import type { ImportProgress } from "./upload.ts";
import { errorsFile } from "./errors-file.ts";
import { problemKinds, type ProblemKind } from "./problem-kinds.ts";
import { totalRows, type ImportCounts, type ImportPlan, type ImportReport } from "./import-api.ts";
import operator from "../../operator/operator.module.css";
import { guide } from "../../../app/guide/guide-pages.ts";
import { GuideLink } from "../../../components/layout/guide-link.tsx";
import { Alert } from "../../../components/status/alert.tsx";
import type { ImportRun } from "./use-import.ts";

const megabyteFormat = new Intl.NumberFormat("en-GB", {
  style: "unit",
  unit: "megabyte",
  maximumFractionDigits: 1,
});

interface RunningImportProps {
  file: File;
  progress: ImportProgress;
  /** Shown while the import runs. */
  hint: string;
}

export function RunningImport({ file, progress: { fraction, counts }, hint }: RunningImportProps) {
  const percent = Math.floor(fraction * 100);
  return (
    <Paper p="lg" maw={760}>
      <Stack gap="sm">
        <Progress.Root size="lg">
          <Progress.Section value={percent} aria-label="Progress" />
        </Progress.Root>
        <Text fz="sm" role="status">
          {counts === null
            ? `Uploading ${file.name} (${megabyteFormat.format(file.size / 1_000_000)})…`
            : `${formatNumber(totalRows(counts))} rows, ${formatNumber(counts.failed)} with errors`}
        </Text>
        <Text fz="sm" c="dimmed">
          {hint}
        </Text>
      </Stack>
    </Paper>
  );
}

const countLabels: { count: keyof ImportCounts; result: string; preview: string }[] = [
  { count: "created", result: "Created", preview: "New jobs" },
  { count: "updated", result: "Updated", preview: "To update" },
  { count: "unchanged", result: "Unchanged", preview: "Unchanged" },
  { count: "failed", result: "Skipped", preview: "With errors" },
];

export function CountList({ counts, isDryRun }: { counts: ImportCounts; isDryRun: boolean }) {
  return (
    <dl className={classes.counts}>
      {countLabels.map(({ count, result, preview }) => (
        <div key={count} data-bad={(count === "failed" && counts.failed > 0) || undefined}>
          <dt>{isDryRun ? preview : result}</dt>
          <dd>{formatNumber(counts[count])}</dd>
        </div>
      ))}
    </dl>
  );
}

/** The first rows of the file, under the names of the target columns. */
export function SampleRows({ sample, plan }: { sample: FileSample; plan: ImportPlan }) {
  const used = plan.mapping.flatMap((target, index) => (target === null ? [] : [{ target, index }]));
  return (
    <section aria-labelledby="first-rows">
      <Title order={2} id="first-rows" mb="sm">
        First rows
      </Title>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- keyboard users must be able to scroll it */}
      <div className={classes.rows} role="region" aria-label="Table of first rows" tabIndex={0}>
        <Table>
          <Table.Thead>
            <Table.Tr>
              {used.map(({ target }) => (
                <Table.Th key={target}>{columnLabel(target)}</Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {sample.rows.map((row, rowIndex) => (
              // The order of rows never changes.
              // oxlint-disable-next-line react/no-array-index-key
              <Table.Tr key={rowIndex}>
                {used.map(({ target, index }) => (
                  <Table.Td key={target}>{row[index]}</Table.Td>
                ))}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </div>
    </section>
  );
}

interface Problem {
  key: string;
  line: number;
  markingNumber: string | null;
  field: string | null;
  message: string;
}

const problemColumns: Column<Problem>[] = [
  { id: "line", header: "Line", isTitle: true, cell: ({ line }) => `Line ${formatNumber(line)}` },
  {
    id: "number",
    header: "Marking Number",
    cell: ({ markingNumber }) => <span className={operator.anywhere}>{markingNumber}</span>,
  },
  { id: "field", header: "Field", cell: ({ field }) => (field === null ? "Whole row" : columnLabel(field)) },
  {
    id: "reason",
    header: "Reason",
    cell: ({ message }) => <span className={operator.anywhere}>{message}</span>,
  },
];

const kindColumns: Column<ProblemKind>[] = [
  {
    id: "problem",
    header: "Problem",
    isTitle: true,
    cell: ({ field, message }) => `${field === null ? "The row" : columnLabel(field)} ${message}`,
  },
  { id: "rows", header: "Rows", align: "end", cell: ({ count }) => formatNumber(count) },
  {
    id: "examples",
    header: "For example",
    cell: ({ examples }) => (
      <span className={operator.anywhere}>
        {examples
          .map(({ line, text }) => (text === undefined ? `line ${line}` : `line ${line}: ${text || "empty"}`))
          .join(" · ")}
      </span>
    ),
  },
];

interface ProblemTableProps {
  report: ImportReport;
  plan: ImportPlan;
  /** Rows shown initially. */
  first: number;
}

const MORE_ROWS = 200;

/** The skipped rows, by line, field and reason. */
export function ProblemTable({ report, plan, first }: ProblemTableProps) {
  const [shown, setShown] = useState(first);
  const { failures, failures_omitted: omitted } = report;
  if (failures.length === 0) return null;
  const problems = failures
    .slice(0, shown)
    .flatMap(({ line, marking_number: markingNumber, problems: all }) =>
      all.map(({ field, message }, index): Problem => ({
        key: `${line} ${index}`,
        line,
        markingNumber,
        field,
        message,
      })),
    );
  return (
    <section aria-labelledby="row-errors">
      <Group justify="space-between" mb="sm">
        <Title order={2} id="row-errors">
          Rows with errors{" "}
        </Title>
        <Button
          variant="default"
          leftSection={<IconDownload size={16} aria-hidden="true" />}
          onClick={() => void errorsFile(plan, failures).then((file) => downloadFile(file.name, file))}
        >
          {plan.format === "ndjson" ? "Download the list" : "Download these rows"}
        </Button>
      </Group>
      <DataTable
        caption="Kinds of errors"
        columns={kindColumns}
        rows={problemKinds(plan, failures)}
        rowKey={({ key }) => key}
      />
      <Title order={3} mt="lg" mb="sm">
        Each row
      </Title>
      <DataTable
        caption="Rows with errors"
        columns={problemColumns}
        rows={problems}
        rowKey={({ key }) => key}
      />
      <GuideLink page={guide.importing} mt="sm" />
      {shown < failures.length && (
        <Group justify="center" mt="md">
          <Button variant="default" onClick={() => setShown(shown + MORE_ROWS)}>
            Show more
          </Button>
        </Group>
      )}
      {omitted > 0 && (
        <Text fz="sm" c="dimmed" mt="sm">
          {formatNumber(omitted)} more rows with errors are not listed.
        </Text>
      )}
    </section>
  );
}

interface UnfinishedImportProps {
  run: Extract<ImportRun, { kind: "failed" | "cancelled" }>;
  isDryRun: boolean;
  onRestart: () => void;
}

/** Explains why an import failed or was cancelled, and what was imported before. */
export function UnfinishedImport({ run, isDryRun, onRestart }: UnfinishedImportProps) {
  const { counts } = run.progress;
  const description = run.kind === "failed" ? describeError(run.error) : null;
  return (
    <Alert
      color={description ? "red" : "gray"}
      icon={description ? undefined : <IconBan aria-hidden="true" />}
      title={
        description ? (isDryRun ? "This file can’t be imported" : description.title) : "Import cancelled"
      }
      role={description ? "alert" : "status"}
      guide={description?.guide ?? null}
    >
      <Stack gap="sm" align="flex-start">
        {description && <Text fz="sm">{description.message}</Text>}
        {!isDryRun && <Text fz="sm">{importedSoFarText(counts)}</Text>}
        {description?.requestId && <Text fz="sm">Request ID {description.requestId}</Text>}
        <Button variant="default" size="compact-sm" onClick={onRestart}>
          {isDryRun ? "Check again" : "Import the file again"}
        </Button>
      </Stack>
    </Alert>
  );
}

function importedSoFarText(counts: ImportCounts | null): string {
  const hint = "You can import the same file again: rows that are already imported stay unchanged.";
  if (counts === null) return `The audit log shows how many rows were imported before. ${hint}`;
  const rows = formatNumber(counts.created + counts.updated);
  return `At least ${rows} jobs were created or updated before. The audit log has the exact counts. ${hint}`;
}
