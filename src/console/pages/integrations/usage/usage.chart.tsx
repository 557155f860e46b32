/** Requests per day, stacked by outcome. Hidden from screen readers, which have the table below it. */
import { formatNumber, formatShortDay } from "../../../app/formats.ts";
import { BarChart } from "@mantine/charts";
import "@mantine/charts/styles.css";
import type { DayUsage } from "./usage.aggregates.ts";

const series = [
  { name: "succeeded", label: "Succeeded", color: "spruce.5" },
  { name: "refused", label: "Rejected (4xx)", color: "amber.4" },
  { name: "failed", label: "Failed (5xx)", color: "red.5" },
];

export function UsageChart({ days }: { days: readonly DayUsage[] }) {
  const data = days.map(({ day, succeeded, refused, failed }) => ({
    day: formatShortDay(day),
    succeeded,
    refused,
    failed,
  }));
  return (
    <div aria-hidden="true">
      <BarChart
        h={260}
        data={data}
        dataKey="day"
        type="stacked"
        series={series}
        withLegend
        tickLine="none"
        valueFormatter={(value) => formatNumber(value)}
        barChartProps={{ accessibilityLayer: false }}
        maxBarWidth={28}
      />
    </div>
  );
}
