/** Numbers per day as bars, side by side or stacked. Screen readers read a list of the days; a table is up to the page. */
import { Text, VisuallyHidden } from "@mantine/core";
import { useState, type CSSProperties } from "react";
import { formatDay, formatNumber, formatShortDay } from "../../app/formats.ts";
import classes from "./day-bars.module.css";
import { scaleOf } from "./scale.ts";

export interface BarSeries {
  label: string;
  color: "amber" | "spruce" | "red";
  /** Drawn as an outline, so that colour is not the only difference. */
  isOutlined?: boolean;
}

export interface BarDay {
  day: string;
  /** In the order of the series. */
  values: readonly number[];
}

interface DayBarsProps {
  label: string;
  series: readonly BarSeries[];
  days: readonly BarDay[];
  isStacked?: boolean;
  /** The day that is not over; its bars are striped. */
  today?: string;
}

/** Days between two labels of the axis. */
const LABEL_STEP = 7;

export function DayBars({ label, series, days, isStacked = false, today }: DayBarsProps) {
  const [hovered, setHovered] = useState<string | null>(null);
  const heights = days.map(({ values }) => (isStacked ? sum(values) : Math.max(...values)));
  const { ticks, top } = scaleOf(Math.max(...heights));
  return (
    <>
      <Legend series={series} days={days} hovered={hovered} today={today} />
      <div className={classes.chart}>
        <div className={classes.ticks} aria-hidden="true">
          {ticks.toReversed().map((tick) => (
            <span key={tick}>{formatNumber(tick)}</span>
          ))}
        </div>
        <ol
          className={classes.days}
          aria-label={label}
          style={{ "--steps": ticks.length - 1 } as CSSProperties}
          onPointerLeave={() => setHovered(null)}
        >
          {days.map((day, index) => (
            <li key={day.day} className={classes.day} onPointerEnter={() => setHovered(day.day)}>
              <VisuallyHidden>{describeDay(day, series, today)}</VisuallyHidden>
              <span className={classes.bars} data-stacked={isStacked || undefined} aria-hidden="true">
                {series.map(({ color, isOutlined, label: name }, position) => (
                  <span
                    key={name}
                    className={classes.bar}
                    data-color={color}
                    data-outlined={isOutlined}
                    data-unfinished={day.day === today || undefined}
                    style={barStyle(day.values[position] ?? 0, top)}
                  />
                ))}
              </span>
              {(days.length - 1 - index) % LABEL_STEP === 0 && (
                <span className={classes.date} aria-hidden="true">
                  {day.day === today ? "Today" : formatShortDay(day.day)}
                </span>
              )}
            </li>
          ))}
        </ol>
      </div>
    </>
  );
}

/** Names the series, with their numbers of the day under the pointer, otherwise of all days. */
function Legend({
  series,
  days,
  hovered,
  today,
}: Pick<DayBarsProps, "series" | "days" | "today"> & { hovered: string | null }) {
  const shown = hovered === null ? days : days.filter(({ day }) => day === hovered);
  return (
    <ul className={classes.legend}>
      {series.map(({ label, color, isOutlined }, position) => (
        <li key={label}>
          <span className={classes.key} data-color={color} data-outlined={isOutlined} aria-hidden="true" />
          {label}: {formatNumber(sum(shown.map(({ values }) => values[position] ?? 0)))}
        </li>
      ))}
      <li>
        <Text span inherit c="dimmed">
          {hovered === null ? `${days.length} days` : formatDay(hovered)}
          {hovered !== null && hovered === today && " so far"}
        </Text>
      </li>
    </ul>
  );
}

function describeDay({ day, values }: BarDay, series: readonly BarSeries[], today?: string): string {
  const numbers = series.map(({ label }, position) => `${label}: ${formatNumber(values[position] ?? 0)}`);
  return `${formatDay(day)}${day === today ? " so far" : ""}. ${numbers.join(", ")}`;
}

/** A small number is still visible, and 0 is not. */
function barStyle(value: number, top: number): CSSProperties {
  return value === 0
    ? { height: 0, visibility: "hidden" }
    : { height: `${(value / top) * 100}%`, minHeight: 1 };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
