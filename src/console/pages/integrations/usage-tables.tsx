/** Usage in tables: by day, which says in words what the chart draws, and by key. */
import { DataTable, type Column } from "../../components/data-table.tsx";
import { TextLink } from "../../components/links.tsx";
import { Day } from "../../components/timestamp.tsx";
import { duration } from "./readable.ts";
import type { DaySum, KeySum, Sum } from "./usage-sums.ts";

const counts: readonly Column<Sum>[] = [
  { id: "total", header: "Requests", align: "end", cell: ({ total }) => total.toLocaleString() },
  { id: "succeeded", header: "Succeeded", align: "end", cell: ({ succeeded }) => succeeded.toLocaleString() },
  { id: "refused", header: "Refused", align: "end", cell: ({ refused }) => refused.toLocaleString() },
  { id: "failed", header: "Failed", align: "end", cell: ({ failed }) => failed.toLocaleString() },
  {
    id: "mean",
    header: "Mean duration",
    align: "end",
    cell: ({ meanDurationMs }) => (meanDurationMs === null ? "–" : duration(meanDurationMs)),
  },
];

const day: Column<DaySum> = {
  id: "day",
  header: "Day",
  isTitle: true,
  cell: ({ day: date }) => <Day value={date} />,
};
const key: Column<KeySum> = { id: "key", header: "Key", isTitle: true, cell: (sum) => <KeyName sum={sum} /> };

export function DayTable({ days }: { days: readonly DaySum[] }) {
  return (
    <DataTable caption="Requests by day" columns={[day, ...counts]} rows={days} rowKey={(sum) => sum.day} />
  );
}

export function KeyUsageTable({ keys }: { keys: readonly KeySum[] }) {
  return (
    <DataTable
      caption="Requests by key"
      columns={[key, ...counts]}
      rows={keys}
      rowKey={({ keyId }) => keyId}
    />
  );
}

function KeyName({ sum: { keyId, keyName } }: { sum: KeySum }) {
  return (
    <TextLink to="/integrations/requests" search={{ key: keyId }}>
      {keyName ?? "A key that is gone"}
    </TextLink>
  );
}
