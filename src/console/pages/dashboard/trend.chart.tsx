/** The trend chart, loaded on demand. */
import { formatDay, formatShortDay } from "../../app/formats.ts";
import { AreaChart } from "@mantine/charts";
import "@mantine/charts/styles.css";
import { useComputedColorScheme } from "@mantine/core";
import type { TrendDay } from "./dashboard.metrics.ts";

export function TrendChart({ days, height }: { days: TrendDay[]; height: number }) {
  const isDark = useComputedColorScheme() === "dark";
  return (
    <AreaChart
      h={height}
      data={days}
      dataKey="day"
      curveType="monotone"
      withDots={false}
      strokeWidth={2}
      fillOpacity={0.14}
      series={[
        { name: "created", label: "Created", color: isDark ? "amber.4" : "amber.6", strokeDasharray: "5 4" },
        { name: "delivered", label: "Delivered", color: isDark ? "spruce.4" : "spruce.6" },
      ]}
      xAxisProps={{ tickFormatter: (day: string) => formatShortDay(day), minTickGap: 28 }}
      yAxisProps={{ allowDecimals: false, width: 40 }}
      tooltipProps={{ labelFormatter: (day) => (typeof day === "string" ? formatDay(day) : "") }}
      // The chart is one image for screen readers; the table has the numbers.
      areaChartProps={{ accessibilityLayer: false, margin: { left: -8, right: 8, top: 8 } }}
    />
  );
}
