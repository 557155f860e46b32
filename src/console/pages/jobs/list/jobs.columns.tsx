/** The columns of the jobs table. */
import { formatNumber } from "../../../app/formats.ts";
import { Text } from "@mantine/core";
import type { MouseEvent } from "react";
import type { Column } from "../../../components/tables/data-table.tsx";
import { TextLink } from "../../../components/layout/links.tsx";
import { StatusBadge } from "../../../components/status/status-badge.tsx";
import { toneOf } from "../../../components/status/tone.ts";
import { Day, Timestamp } from "../../../components/display/timestamp.tsx";
import type { JobRowFragment } from "../../../generated/job-row.ts";
import { dueDay, isLate } from "../job.due.ts";
import { useToday } from "../../../app/session/zone.ts";
import { formatValue, type ReferenceLabels } from "../job.labels.ts";
import { COLUMNS, type ColumnId, type JobsSearch, type SortField } from "../filters/jobs.search.ts";
import classes from "./jobs.module.css";

type JobColumn = Column<JobRowFragment>;

interface ColumnDefinition {
  header: string;
  align?: "end";
  sort?: SortField;
  cell: (job: JobRowFragment, labels: ReferenceLabels) => React.ReactNode;
}

const emptyCell = (
  <Text component="span" c="dimmed" fz="inherit" aria-label="none">
    –
  </Text>
);

const textCell = (value: string | null) =>
  value === null ? (
    emptyCell
  ) : (
    // The whole text, where the column cuts it.
    <span className={classes.text} title={value}>
      {value}
    </span>
  );
const numberCell = (value: number | null) => (value === null ? emptyCell : formatNumber(value));
const dayCell = (value: string | null) => (value === null ? emptyCell : <Day value={value} />);

export const columnDefinitions: Record<ColumnId, ColumnDefinition> = {
  status: {
    header: "Status",
    cell: ({ status }) => <StatusBadge label={status.label} tone={toneOf(status.category)} />,
  },
  failureReason: {
    header: "Failure reason",
    cell: ({ failureReason }, labels) =>
      failureReason === null ? emptyCell : formatValue("failureReason", failureReason, labels),
  },
  due: { header: "Due", sort: "due_date", cell: (job) => <Due job={job} /> },
  scheduledDate: { header: "Scheduled", sort: "scheduled_date", cell: (job) => dayCell(job.scheduledDate) },
  scheduledDeliveryDate: { header: "Confirmed", cell: (job) => dayCell(job.scheduledDeliveryDate) },
  recipientName: { header: "Recipient", cell: (job) => textCell(job.recipientName) },
  recipientContact: { header: "Contact", cell: (job) => textCell(job.recipientContact) },
  deliveryAddress: { header: "Delivery address", cell: (job) => textCell(job.deliveryAddress) },
  postalCode: { header: "Postal code", cell: (job) => textCell(job.postalCode) },
  agent: { header: "Agent", cell: (job) => textCell(job.agent.name) },
  contractor: { header: "Contractor", cell: (job) => textCell(job.contractor?.name ?? null) },
  batchNumber: { header: "Batch", cell: (job) => textCell(job.batchNumber) },
  groupCode: { header: "Group", cell: (job) => textCell(job.groupCode) },
  pieceQuantity: { header: "Pieces", align: "end", cell: (job) => numberCell(job.pieceQuantity) },
  weight: { header: "Weight", align: "end", cell: (job) => numberCell(job.weight) },
  pts: { header: "PTS", align: "end", cell: (job) => numberCell(job.pts) },
  labels: { header: "Labels", cell: (job) => textCell(job.labels) },
  providerStatus: { header: "Carrier's status", cell: (job) => textCell(job.providerStatus) },
  createdAt: { header: "Created", sort: "created_at", cell: (job) => <Timestamp value={job.createdAt} /> },
  updatedAt: { header: "Updated", sort: "updated_at", cell: (job) => <Timestamp value={job.updatedAt} /> },
};

/** Of a job on a phone. Other columns are shown there if the user chose them. */
const PHONE_LINES: Partial<Record<ColumnId, "first" | "second">> = {
  status: "first",
  due: "second",
  recipientName: "second",
  agent: "second",
  contractor: "second",
};

function Due({ job }: { job: JobRowFragment }) {
  const today = useToday();
  const due = dueDay(job);
  if (due === null) return emptyCell;
  return (
    <span className={classes.due} data-whole>
      <Day value={due} />
      {isLate(job, today) && <span className={classes.late}>Late</span>}
    </span>
  );
}

/** Omits the user's own organisation, which is the same in every row. */
export function defaultColumns(organizationType: "agent" | "contractor" | null): ColumnId[] {
  if (organizationType === null) return ["status", "due", "recipientName", "agent", "contractor"];
  return [
    "status",
    "due",
    "recipientName",
    organizationType === "agent" ? "contractor" : "agent",
    "updatedAt",
  ];
}

interface JobColumnsOptions {
  /** The list that the page of a job leads back to. */
  list: JobsSearch;
  shown: readonly ColumnId[];
  labels: ReferenceLabels;
  sortOf: (field: SortField) => JobColumn["sort"];
  /** Opens a job next to the list. Without it, a click follows the link to its page. */
  onOpen: ((markingNumber: string) => void) | null;
}

/** The browser opens a new tab or window for other clicks. */
function isPlainClick({ button, altKey, ctrlKey, metaKey, shiftKey }: MouseEvent): boolean {
  return button === 0 && !altKey && !ctrlKey && !metaKey && !shiftKey;
}

export function jobColumns({ list, shown, labels, sortOf, onOpen }: JobColumnsOptions): JobColumn[] {
  const markingNumber: JobColumn = {
    id: "markingNumber",
    header: "Marking Number",
    isTitle: true,
    sort: sortOf("marking_number"),
    cell: (job) => (
      <TextLink
        to="/jobs/$markingNumber"
        params={{ markingNumber: job.markingNumber }}
        state={{ jobList: list }}
        fw={600}
        className={classes.number}
        onClick={(event) => {
          if (!onOpen || !isPlainClick(event)) return;
          event.preventDefault();
          onOpen(job.markingNumber);
        }}
      >
        {job.markingNumber}
      </TextLink>
    ),
  };
  const others = COLUMNS.filter((id) => shown.includes(id)).map((id): JobColumn => {
    const { header, align, sort, cell } = columnDefinitions[id];
    return {
      id,
      header,
      align,
      sort: sort && sortOf(sort),
      cell: (job) => cell(job, labels),
      onPhone: PHONE_LINES[id] ?? (list.columns ? undefined : "hidden"),
    };
  });
  return [markingNumber, ...others];
}
