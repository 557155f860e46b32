/** The columns of an export: those of the list, with the same headings, and values that a spreadsheet can calculate with. */
import { clockIn } from "../../../app/formats.ts";
import type { JobRowFragment } from "../../../generated/job-row.ts";
import type { ColumnId } from "../filters/jobs.search.ts";
import { dueDay } from "../job.due.ts";
import type { ReferenceLabels } from "../job.labels.ts";

/** `time`: the clock in the zone of the export, as if it were UTC. `day`: midnight. */
export type ExportKind = "text" | "number" | "day" | "time";
export type ExportValue = string | number | Date | null;

export interface ExportColumn {
  header: string;
  kind: ExportKind;
  value: (job: JobRowFragment) => ExportValue;
}

interface ExportOptions {
  /** In the order of the list. */
  shown: readonly ColumnId[];
  headerOf: (id: ColumnId) => string;
  labels: ReferenceLabels;
  zone: string;
}

export function exportColumns({ shown, headerOf, labels, zone }: ExportOptions): ExportColumn[] {
  const number: ExportColumn = {
    header: "Marking Number",
    kind: "text",
    value: ({ markingNumber }) => markingNumber,
  };
  const others = shown.map((id): ExportColumn => {
    const kind = kinds[id] ?? "text";
    // A spreadsheet cannot show the zone in the cell.
    const header = kind === "time" ? `${headerOf(id)} (${zone})` : headerOf(id);
    return { header, kind, value: (job) => toValue(kind, readers[id](job, labels), zone) };
  });
  return [number, ...others];
}

const kinds: Partial<Record<ColumnId, ExportKind>> = {
  due: "day",
  scheduledDate: "day",
  scheduledDeliveryDate: "day",
  pieceQuantity: "number",
  weight: "number",
  pts: "number",
  createdAt: "time",
  updatedAt: "time",
};

const field =
  <Name extends ColumnId & keyof JobRowFragment>(name: Name) =>
  (job: JobRowFragment): JobRowFragment[Name] =>
    job[name];

const readers: Record<ColumnId, (job: JobRowFragment, labels: ReferenceLabels) => string | number | null> = {
  status: ({ status }) => status.label,
  failureReason: ({ failureReason: code }, { reasons }) =>
    code === null ? null : (reasons.get(code) ?? code),
  due: dueDay,
  scheduledDate: field("scheduledDate"),
  scheduledDeliveryDate: field("scheduledDeliveryDate"),
  recipientName: field("recipientName"),
  recipientContact: field("recipientContact"),
  deliveryAddress: field("deliveryAddress"),
  postalCode: field("postalCode"),
  agent: ({ agent }) => agent.name,
  contractor: ({ contractor }) => contractor?.name ?? null,
  batchNumber: field("batchNumber"),
  groupCode: field("groupCode"),
  pieceQuantity: field("pieceQuantity"),
  weight: field("weight"),
  pts: field("pts"),
  labels: field("labels"),
  providerStatus: field("providerStatus"),
  createdAt: field("createdAt"),
  updatedAt: field("updatedAt"),
};

/** The calendar of a spreadsheet begins in 1900, which it takes for a leap year. Earlier days stay text. */
const FIRST_DAY = "1900-03-01";

function toValue(kind: ExportKind, value: string | number | null, zone: string): ExportValue {
  if (typeof value !== "string") return value;
  if (kind === "time") return clockIn(new Date(value), zone);
  return kind === "day" && value >= FIRST_DAY ? new Date(`${value}T00:00:00Z`) : value;
}
