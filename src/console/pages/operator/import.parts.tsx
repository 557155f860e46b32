/** What the steps of an import share: the way there, the counts, the first rows and what is wrong with others. */
import { Alert, Button, Group, Paper, Progress, Stack, Table, Text, Title } from "@mantine/core";
import { IconCircleCheck, IconDownload } from "@tabler/icons-react";
import { useState } from "react";
import { describeError } from "../../app/describe-error.ts";
import { download } from "../../app/download.ts";
import { DataTable, type Column } from "../../components/data-table.tsx";
import { labelOfColumn } from "./import.columns.ts";
import type { FileHead } from "./import.head.ts";
import classes from "./import.module.css";
import type { ImportProgress } from "./import.upload.ts";
import {
  failuresAsCsv,
  rowsOf,
  type ImportCounts,
  type ImportPlan,
  type ImportReport,
} from "./import.wire.ts";
import operator from "./operator.module.css";
import type { ImportRun } from "./use-import.ts";

const number = (value: number): string => value.toLocaleString("en");

const size = new Intl.NumberFormat("en", { style: "unit", unit: "megabyte", maximumFractionDigits: 1 });

interface RunningImportProps {
  file: File;
  progress: ImportProgress;
  /** What to know meanwhile. */
  words: string;
}

export function RunningImport({ file, progress: { fraction, counts }, words }: RunningImportProps) {
  const percent = Math.floor(fraction * 100);
  return (
    <Paper p="lg" maw={760}>
      <Stack gap="sm">
        <Progress.Root size="lg">
          <Progress.Section value={percent} aria-label="Progress" />
        </Progress.Root>
        <Text fz="sm" role="status">
          {counts === null
            ? `Sending ${file.name}, ${size.format(file.size / 1_000_000)}…`
            : `${number(rowsOf(counts))} rows, ${number(counts.failed)} with mistakes`}
        </Text>
        <Text fz="sm" c="dimmed">
          {words}
        </Text>
      </Stack>
    </Paper>
  );
}

const outcomes: { of: keyof ImportCounts; done: string; would: string }[] = [
  { of: "created", done: "New jobs", would: "New jobs" },
  { of: "updated", done: "Changed", would: "To be changed" },
  { of: "unchanged", done: "Unchanged", would: "Unchanged" },
  { of: "failed", done: "Left out", would: "With mistakes" },
];

export function CountList({ counts, isDryRun }: { counts: ImportCounts; isDryRun: boolean }) {
  return (
    <dl className={classes.counts}>
      {outcomes.map(({ of, done, would }) => (
        <div key={of} data-bad={(of === "failed" && counts.failed > 0) || undefined}>
          <dt>{isDryRun ? would : done}</dt>
          <dd>{number(counts[of])}</dd>
        </div>
      ))}
    </dl>
  );
}

/** The first rows as they are read, under our names. */
export function SampleRows({ head, plan }: { head: FileHead; plan: ImportPlan }) {
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
                <Table.Th key={target}>{labelOfColumn(target)}</Table.Th>
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
  { id: "line", header: "Line", isTitle: true, cell: ({ line }) => `Line ${number(line)}` },
  {
    id: "number",
    header: "Marking Number",
    cell: (one) => <span className={operator.anywhere}>{one.markingNumber}</span>,
  },
  { id: "field", header: "Field", cell: ({ field }) => (field === null ? "The row" : labelOfColumn(field)) },
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

const MORE = 200;

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
            download(`${fileName.replace(/\.[^.]+$/, "")}-mistakes.csv`, failuresAsCsv(failures), "text/csv")
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
          <Button variant="default" onClick={() => setShown(shown + MORE)}>
            Show more
          </Button>
        </Group>
      )}
      {leftOut > 0 && (
        <Text fz="sm" c="dimmed" mt="sm">
          {number(leftOut)} more are counted and not listed.
        </Text>
      )}
    </section>
  );
}

interface UnfinishedImportProps {
  run: Extract<ImportRun, { kind: "failed" | "cancelled" }>;
  isDryRun: boolean;
  onAgain: () => void;
}

/** It failed or was cancelled: why, what is in all the same, and what to do. */
export function UnfinishedImport({ run, isDryRun, onAgain }: UnfinishedImportProps) {
  const { counts } = run.progress;
  const why = run.kind === "failed" ? describeError(run.error) : null;
  return (
    <Alert
      color={why ? "red" : "gray"}
      icon={why ? undefined : <IconCircleCheck aria-hidden="true" />}
      title={
        why ? (isDryRun ? "This file cannot be imported like this" : why.title) : "Nothing more is imported"
      }
      role={why ? "alert" : "status"}
    >
      <Stack gap="sm" align="flex-start">
        {why && <Text fz="sm">{why.message}</Text>}
        {!isDryRun && <Text fz="sm">{standingWords(counts)}</Text>}
        {why?.requestId && <Text fz="sm">Request {why.requestId}</Text>}
        <Button variant="default" size="compact-sm" onClick={onAgain}>
          {isDryRun ? "Check again" : "Import the file again"}
        </Button>
      </Stack>
    </Alert>
  );
}

function standingWords(counts: ImportCounts | null): string {
  const again = "You can import the same file again: what is in already stays unchanged.";
  if (counts === null) return `How many rows went in until then, the audit log says. ${again}`;
  const rows = number(counts.created + counts.updated);
  return `At least ${rows} jobs were made or changed until then; the audit log has the exact counts. ${again}`;
}
