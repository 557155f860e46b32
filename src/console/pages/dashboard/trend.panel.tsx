/** Jobs created and delivered per day, as bars or as a table. */
import { formatNumber } from "../../app/formats.ts";
import { SegmentedControl, Text } from "@mantine/core";
import { useMemo, useState } from "react";
import { type BarSeries, DayBars } from "../../components/charts/day-bars.tsx";
import { useZone } from "../../app/session/zone.ts";
import { Day } from "../../components/display/timestamp.tsx";
import { trendDays, type TrendDay } from "./dashboard.metrics.ts";
import classes from "./dashboard.module.css";
import { DashboardPanel } from "./dashboard.panel.tsx";
import type { Dashboard } from "./use-dashboard.ts";

const series: readonly BarSeries[] = [
  { label: "Created", color: "amber", isOutlined: true },
  { label: "Delivered", color: "spruce" },
];

export function TrendPanel({ dashboard: { data, error, refetch, today } }: { dashboard: Dashboard }) {
  const zone = useZone();
  const [view, setView] = useState("chart");
  const created = data?.created;
  const delivered = data?.delivered;
  const days = useMemo(
    () => (created && delivered ? trendDays(created.groups, delivered.groups, today) : null),
    [created, delivered, today],
  );
  return (
    <DashboardPanel
      title="Last 30 days"
      part={days}
      error={error}
      onRetry={refetch}
      action={
        <SegmentedControl
          size="xs"
          aria-label="Show as"
          value={view}
          onChange={setView}
          data={[
            { value: "chart", label: "Chart" },
            { value: "table", label: "Table" },
          ]}
        />
      }
    >
      {(loaded) => (
        <>
          {view === "chart" ? (
            <DayBars
              label="Jobs per day"
              series={series}
              days={loaded.map(({ day, created: added, delivered: done }) => ({
                day,
                values: [added, done],
              }))}
              today={today}
            />
          ) : (
            <Table days={loaded} today={today} />
          )}
          <Text fz="xs" c="dimmed" mt="xs">
            Days are in {zone}; today is not over. A delivered job counts on the day of its last change.
          </Text>
        </>
      )}
    </DashboardPanel>
  );
}

function Table({ days, today }: { days: TrendDay[]; today: string }) {
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- keyboard users must be able to scroll it
    <div className={classes.days} tabIndex={0} role="region" aria-label="Jobs by day">
      <table>
        <thead>
          <tr>
            <th scope="col">Day</th>
            <th scope="col">Created</th>
            <th scope="col">Delivered</th>
          </tr>
        </thead>
        <tbody>
          {days.toReversed().map(({ day, created, delivered }) => (
            <tr key={day}>
              <th scope="row">
                <Day value={day} />
                {day === today && " so far"}
              </th>
              <td>{formatNumber(created)}</td>
              <td>{formatNumber(delivered)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
