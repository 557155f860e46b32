/** Jobs created and delivered per day, as a chart or as a table. */
import { formatCount, formatNumber } from "../../app/formats.ts";
import { SegmentedControl, Skeleton, Text } from "@mantine/core";
import { lazy, Suspense, useMemo, useState } from "react";
import { useZone } from "../../app/session/zone.ts";
import { Day } from "../../components/display/timestamp.tsx";
import { trendDays, type TrendDay } from "./dashboard.metrics.ts";
import classes from "./dashboard.module.css";
import { DashboardPanel } from "./dashboard.panel.tsx";
import type { Dashboard } from "./use-dashboard.ts";

// The chart library is large, so the rest of the page does not wait for it.
const TrendChart = lazy(async () => ({ default: (await import("./trend.chart.tsx")).TrendChart }));

const CHART_HEIGHT = 300;

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
          {view === "chart" ? <Chart days={loaded} /> : <Table days={loaded} />}
          <Text fz="xs" c="dimmed" mt="xs">
            Days are in {zone}. A delivered job counts on the day of its last change.
          </Text>
        </>
      )}
    </DashboardPanel>
  );
}

function Chart({ days }: { days: TrendDay[] }) {
  const sum = (of: (day: TrendDay) => number): number => days.reduce((total, day) => total + of(day), 0);
  const [created, delivered] = [sum((day) => day.created), sum((day) => day.delivered)];
  return (
    <>
      <ul className={classes.legend}>
        <li>
          <span className={classes.key} data-series="created" aria-hidden="true" />
          Created: {formatNumber(created)}
        </li>
        <li>
          <span className={classes.key} data-series="delivered" aria-hidden="true" />
          Delivered: {formatNumber(delivered)}
        </li>
      </ul>
      <div
        role="img"
        aria-label={`${formatCount(created, "job")} created and ${formatNumber(delivered)} delivered in the last 30 days. The table has each day.`}
      >
        <Suspense fallback={<Skeleton height={CHART_HEIGHT} radius="md" />}>
          <TrendChart days={days} height={CHART_HEIGHT} />
        </Suspense>
      </div>
    </>
  );
}

function Table({ days }: { days: TrendDay[] }) {
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
