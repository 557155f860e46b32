/** What the steps of an import share: the way there, the counts, the first rows and what is wrong with others. */
import { Alert, Button, Group, Paper, Progress, Stack, Table, Text, Title } from "@mantine/core";
import { IconCircleCheck, IconDownload } from "@tabler/icons-react";
import { useState } from "react";
import { describeError } from "../../../app/api/describe-error.ts";
import { downloadText } from "../../../app/download.ts";
import { DataTable, type Column } from "../../../components/tables/data-table.tsx";
import { columnLabel } from "./columns.ts";
import type { FileSample } from "./file-sample.ts";
import classes from "./import.module.css";
import type { ImportProgress } from "./upload.ts";
import {
  failuresAsCsv,
  totalRows,
  type ImportCounts,
  type ImportPlan,
  type ImportReport,
} from "./import-api.ts";
import operator from "../operator.module.css";
import type { ImportRun } from "./use-import.ts";

const formatCount = (value: number): string => value.toLocaleString("en");

const megabyteFormat = new Intl.NumberFormat("en", {
  style: "unit",
  unit: "megabyte",
  maximumFractionDigits: 1,
});

interface RunningImportProps {
  file: File;
  progress: ImportProgress;
  /** What to know meanwhile. */
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
            ? `Sending ${file.name}, ${megabyteFormat.format(file.size / 1_000_000)}…`
            : `${formatCount(totalRows(counts))} rows, ${formatCount(counts.failed)} with mistakes`}
        </Text>
        <Text fz="sm" c="dimmed">
          {hint}
        </Text>
      </Stack>
    </Paper>
  );
}

const countLabels: { of: keyof ImportCounts; done: string; would: string }[] = [
  { of: "created", done: "New jobs", would: "New jobs" },
  { of: "updated", done: "Changed", would: "To be changed" },
  { of: "unchanged", done: "Unchanged", would: "Unchanged" },
  { of: "failed", done: "Left out", would: "With mistakes" },
];

export function CountList({ counts, isDryRun }: { counts: ImportCounts; isDryRun: boolean }) {
  return (
    <dl className={classes.counts}>
      {countLabels.map(({ of, done, would }) => (
        <div key={of} data-bad={(of === "failed" && counts.failed > 0) || undefined}>
          <dt>{isDryRun ? would : done}</dt>
          <dd>{formatCount(counts[of])}</dd>
        </div>
      ))}
    </dl>
  );
}

/** The first rows as they are read, under our names. */
export function SampleRows({ head, plan }: { head: FileSample; plan: ImportPlan }) {
  const used = plan.mapping.flatMap((target, at) => (target === null ? [] : [{ target, at }]));
  return (
    <section aria-labelledby="first-rows">
      <Title order={2} id="first-rows" mb="sm">
        The first rows
      </Title>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls is reached by the keyboard */}
      <div className={classes.rows} role="region" aria-label="Table of the first rows" tabIndex={0}>
        <Table>
          <Table.Thead>
            <Table.Tr>
              {used.map(({ target }) => (
                <Table.Th key={target}>{columnLabel(target)}</Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {head.rows.map((row, index) => (
              // Rows of a file that is not changed never change their places.
              // oxlint-disable-next-line react/no-array-index-key
              <Table.Tr key={index}>
                {used.map(({ target, at }) => (
                  <Table.Td key={target}>{row[at]}</Table.Td>
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
  { id: "line", header: "Line", isTitle: true, cell: ({ line }) => `Line ${formatCount(line)}` },
  {
    id: "number",
    header: "Marking Number",
    cell: (one) => <span className={operator.anywhere}>{one.markingNumber}</span>,
  },
  { id: "field", header: "Field", cell: ({ field }) => (field === null ? "The row" : columnLabel(field)) },
  {
    id: "reason",
    header: "Reason",
    cell: ({ message }) => <span className={operator.anywhere}>{message}</span>,
  },
];

interface ProblemTableProps {
  report: ImportReport;
  fileName: string;
  /** So many rows at first. */
  first: number;
}

const MORE_ROWS = 200;

/** Every row that is left out, by line, field and reason. */
export function ProblemTable({ report, fileName, first }: ProblemTableProps) {
  const [shown, setShown] = useState(first);
  const { failures, failures_left_out: leftOut } = report;
  if (failures.length === 0) return null;
  const problems = failures
    .slice(0, shown)
    .flatMap(({ line, marking_number: markingNumber, problems: all }) =>
      all.map(({ field, message }, at): Problem => ({
        key: `${line} ${at}`,
        line,
        markingNumber,
        field,
        message,
      })),
    );
  return (
    <section aria-labelledby="mistakes">
      <Group justify="space-between" mb="sm">
        <Title order={2} id="mistakes">
          Rows with mistakes
        </Title>
        <Button
          variant="default"
          leftSection={<IconDownload size={16} aria-hidden="true" />}
          onClick={() =>
            downloadText(
              `${fileName.replace(/\.[^.]+$/, "")}-mistakes.csv`,
              failuresAsCsv(failures),
              "text/csv",
            )
          }
        >
          Download as CSV
        </Button>
      </Group>
      <DataTable
        caption="Rows with mistakes"
        columns={problemColumns}
        rows={problems}
        rowKey={({ key }) => key}
      />
      {shown < failures.length && (
        <Group justify="center" mt="md">
          <Button variant="default" onClick={() => setShown(shown + MORE_ROWS)}>
            Show more
          </Button>
        </Group>
      )}
      {leftOut > 0 && (
        <Text fz="sm" c="dimmed" mt="sm">
          {formatCount(leftOut)} more are counted and not listed.
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

/** It failed or was cancelled: why, what is in all the same, and what to do. */
export function UnfinishedImport({ run, isDryRun, onRestart }: UnfinishedImportProps) {
  const { counts } = run.progress;
  const description = run.kind === "failed" ? describeError(run.error) : null;
  return (
    <Alert
      color={description ? "red" : "gray"}
      icon={description ? undefined : <IconCircleCheck aria-hidden="true" />}
      title={
        description
          ? isDryRun
            ? "This file cannot be imported like this"
            : description.title
          : "Nothing more is imported"
      }
      role={description ? "alert" : "status"}
    >
      <Stack gap="sm" align="flex-start">
        {description && <Text fz="sm">{description.message}</Text>}
        {!isDryRun && <Text fz="sm">{importedSoFarText(counts)}</Text>}
        {description?.requestId && <Text fz="sm">Request {description.requestId}</Text>}
        <Button variant="default" size="compact-sm" onClick={onRestart}>
          {isDryRun ? "Check again" : "Import the file again"}
        </Button>
      </Stack>
    </Alert>
  );
}

function importedSoFarText(counts: ImportCounts | null): string {
  const again = "You can import the same file again: what is in already stays unchanged.";
  if (counts === null) return `How many rows went in until then, the audit log says. ${again}`;
  const rows = formatCount(counts.created + counts.updated);
  return `At least ${rows} jobs were made or changed until then; the audit log has the exact counts. ${again}`;
}
