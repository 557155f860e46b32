/** Tables of usage by day and by key. */
import { formatNumber } from "../../../app/formats.ts";
import { DataTable, type Column } from "../../../components/tables/data-table.tsx";
import { TextLink } from "../../../components/layout/links.tsx";
import { Day } from "../../../components/display/timestamp.tsx";
import { formatDuration } from "../formatting.ts";
import type { DayUsage, KeyUsage, UsageTotals } from "./usage.aggregates.ts";

const countColumns: readonly Column<UsageTotals>[] = [
  { id: "total", header: "Requests", align: "end", cell: ({ total }) => formatNumber(total) },
  { id: "succeeded", header: "Succeeded", align: "end", cell: ({ succeeded }) => formatNumber(succeeded) },
  { id: "refused", header: "Rejected", align: "end", cell: ({ refused }) => formatNumber(refused) },
  { id: "failed", header: "Failed", align: "end", cell: ({ failed }) => formatNumber(failed) },
  {
    id: "mean",
    header: "Mean duration",
    align: "end",
    cell: ({ meanDurationMs }) => (meanDurationMs === null ? "–" : formatDuration(meanDurationMs)),
  },
];

const dayColumn: Column<DayUsage> = {
  id: "day",
  header: "Day",
  isTitle: true,
  cell: ({ day: date }) => <Day value={date} />,
};
const keyColumn: Column<KeyUsage> = {
  id: "key",
  header: "Key",
  isTitle: true,
  cell: (sum) => <KeyName sum={sum} />,
};

export function DayUsageTable({ days }: { days: readonly DayUsage[] }) {
  return (
    <DataTable
      caption="Requests by day"
      columns={[dayColumn, ...countColumns]}
      rows={days}
      rowKey={(sum) => sum.day}
    />
  );
}

export function KeyUsageTable({ keys }: { keys: readonly KeyUsage[] }) {
  return (
    <DataTable
      caption="Requests by key"
      columns={[keyColumn, ...countColumns]}
      rows={keys}
      rowKey={({ keyId }) => keyId}
    />
  );
}

function KeyName({ sum: { keyId, keyName } }: { sum: KeyUsage }) {
  return (
    <TextLink to="/integrations/requests" search={{ key: keyId }}>
      {keyName ?? "Deleted key"}
    </TextLink>
  );
}
