/** What the table of jobs can show of a job. */
import { Checkbox, Text } from "@mantine/core";
import type { Column } from "../../components/data-table.tsx";
import { TextLink } from "../../components/links.tsx";
import { StatusBadge } from "../../components/status-badge.tsx";
import { toneOf } from "../../components/tone.ts";
import { Day, Timestamp } from "../../components/timestamp.tsx";
import type { JobRowFragment } from "../../generated/job-row.ts";
import { dueDay, isLate, todayUtc } from "./job.category.ts";
import { inWords, numberWords, type Names } from "./job.words.ts";
import { COLUMNS, type ColumnId, type SortField } from "./jobs.search.ts";
import classes from "./jobs.module.css";
import type { Selection } from "./use-selection.ts";

type JobColumn = Column<JobRowFragment>;

interface Showing {
  header: string;
  align?: "end";
  sort?: SortField;
  cell: (job: JobRowFragment, names: Names) => React.ReactNode;
}

const none = (
  <Text component="span" c="dimmed" fz="inherit" aria-label="none">
    –
  </Text>
);

const text = (value: string | null) => value ?? none;
const number = (value: number | null) => (value === null ? none : numberWords(value));
const day = (value: string | null) => (value === null ? none : <Day value={value} />);
const longText = (value: string | null) =>
  value === null ? none : <span className={classes.long}>{value}</span>;

export const showings: Record<ColumnId, Showing> = {
  status: {
    header: "Status",
    cell: ({ status }) => <StatusBadge label={status.label} tone={toneOf(status.category)} />,
  },
  failureReason: {
    header: "Failure reason",
    cell: ({ failureReason }, names) =>
      failureReason === null ? none : inWords("failureReason", failureReason, names),
  },
  due: { header: "Due", cell: (job) => <Due job={job} /> },
  scheduledDate: { header: "Scheduled", sort: "scheduled_date", cell: (job) => day(job.scheduledDate) },
  scheduledDeliveryDate: { header: "Confirmed", cell: (job) => day(job.scheduledDeliveryDate) },
  recipientName: { header: "Recipient", cell: (job) => longText(job.recipientName) },
  recipientContact: { header: "Contact", cell: (job) => text(job.recipientContact) },
  deliveryAddress: { header: "Address", cell: (job) => longText(job.deliveryAddress) },
  postalCode: { header: "Postal code", cell: (job) => text(job.postalCode) },
  agent: { header: "Agent", cell: (job) => job.agent.name },
  contractor: { header: "Contractor", cell: (job) => text(job.contractor?.name ?? null) },
  batchNumber: { header: "Batch", cell: (job) => text(job.batchNumber) },
  groupCode: { header: "Group", cell: (job) => text(job.groupCode) },
  pieceQuantity: { header: "Pieces", align: "end", cell: (job) => number(job.pieceQuantity) },
  weight: { header: "Weight", align: "end", cell: (job) => number(job.weight) },
  pts: { header: "PTS", align: "end", cell: (job) => number(job.pts) },
  labels: { header: "Labels", cell: (job) => text(job.labels) },
  providerStatus: { header: "Carrier's status", cell: (job) => text(job.providerStatus) },
  createdAt: { header: "Created", sort: "created_at", cell: (job) => <Timestamp value={job.createdAt} /> },
  updatedAt: { header: "Changed", sort: "updated_at", cell: (job) => <Timestamp value={job.updatedAt} /> },
};

function Due({ job }: { job: JobRowFragment }) {
  const due = dueDay(job);
  if (due === null) return none;
  return (
    <span className={classes.due}>
      <Day value={due} />
      {isLate(job, todayUtc()) && <span className={classes.late}>Late</span>}
    </span>
  );
}

/** A partner's own organisation is the same in each row. */
export function defaultColumns(kind: "agent" | "contractor" | null): ColumnId[] {
  if (kind === null) return ["status", "due", "recipientName", "agent", "contractor"];
  return ["status", "due", "recipientName", kind === "agent" ? "contractor" : "agent", "updatedAt"];
}

interface ColumnsAsked {
  shown: readonly ColumnId[];
  names: Names;
  sortOf: (field: SortField) => JobColumn["sort"];
}

export function jobColumns({ shown, names, sortOf }: ColumnsAsked): JobColumn[] {
  const markingNumber: JobColumn = {
    id: "markingNumber",
    header: "Marking Number",
    isTitle: true,
    sort: sortOf("marking_number"),
    cell: (job) => (
      <TextLink
        to="/jobs/$markingNumber"
        params={{ markingNumber: job.markingNumber }}
        fw={600}
        className={classes.number}
      >
        {job.markingNumber}
      </TextLink>
    ),
  };
  const others = COLUMNS.filter((id) => shown.includes(id)).map((id): JobColumn => {
    const { header, align, sort, cell } = showings[id];
    return { id, header, align, sort: sort && sortOf(sort), cell: (job) => cell(job, names) };
  });
  return [markingNumber, ...others];
}

/** A box before each row, and one that ticks the page. */
export function selectionColumn(selection: Selection, page: readonly JobRowFragment[]): JobColumn {
  const numbers = page.map(({ markingNumber }) => markingNumber);
  const ticked = numbers.filter((markingNumber) => selection.chosen.has(markingNumber)).length;
  return {
    id: "select",
    header: "Select",
    isActions: true,
    headerContent: (
      <Checkbox
        size="xs"
        aria-label="Select all on this page"
        checked={ticked > 0 && ticked === numbers.length}
        indeterminate={ticked > 0 && ticked < numbers.length}
        onChange={() => selection.togglePage(numbers)}
      />
    ),
    cell: ({ markingNumber }) => (
      <Checkbox
        size="xs"
        className={classes.tick}
        aria-label={`Select ${markingNumber}`}
        checked={selection.chosen.has(markingNumber)}
        onChange={() => selection.toggle(markingNumber)}
      />
    ),
  };
}
