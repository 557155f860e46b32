/** The numbers of today, in total and by contractor. Each one links to its jobs. */
import { Button, Text, VisuallyHidden } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { formatDay, formatNumber } from "../../app/formats.ts";
import { useSession } from "../../app/session/session.ts";
import { useZone } from "../../app/session/zone.ts";
import type { CountsOfTodayFragment, DashboardQuery } from "../../generated/dashboard.ts";
import { NO_CONTRACTOR_LABEL, type JobsSearch } from "../jobs/filters/jobs.search.ts";
import classes from "./dashboard.module.css";
import { dueOn, TODAY_COLUMNS, TODAY_LABELS, todaySearch, type TodayColumn } from "./dashboard.metrics.ts";
import { DashboardPanel } from "./dashboard.panel.tsx";
import board from "./today.board.module.css";
import type { Dashboard } from "./use-dashboard.ts";

type Row = NonNullable<DashboardQuery["jobsToday"]>["contractors"][number];

/** More contractors appear on request. */
const MAX_ROWS = 8;
/** The API's limit. */
const MAX_CONTRACTORS = 100;

export function TodayBoard({ dashboard: { data, error, refetch, today } }: { dashboard: Dashboard }) {
  const zone = useZone();
  // A contractor would see only itself.
  const hasRows = useSession().organization?.type !== "contractor";
  return (
    <DashboardPanel title="Today" part={data?.jobsToday} error={error} onRetry={refetch}>
      {({ day, total, contractors }) => (
        <>
          <Text fz="sm" c="dimmed" mt={-10} mb="md">
            {formatDay(day)} in {zone}
          </Text>
          <ul className={board.tiles} aria-label="Jobs of today">
            {TODAY_COLUMNS.map((column) => (
              <li key={column}>
                <Link to="/jobs" search={todaySearch(column, dueOn(day, today))} className={classes.tile}>
                  <span className={board.label}>{TODAY_LABELS[column]}</span>
                  <span className={classes.count} data-late={isLateNumber(column, total)}>
                    {formatNumber(total[column])}
                  </span>
                </Link>
              </li>
            ))}
          </ul>
          {hasRows && contractors.length > 0 && <Contractors rows={contractors} due={dueOn(day, today)} />}
        </>
      )}
    </DashboardPanel>
  );
}

/* oxlint-disable jsx-a11y/no-redundant-roles, jsx-a11y/no-interactive-element-to-noninteractive-role -- on a phone it is a grid */
function Contractors({ rows, due }: { rows: readonly Row[]; due: JobsSearch }) {
  const [isWhole, setWhole] = useState(false);
  return (
    <>
      <table className={board.table} role="table" aria-label="Jobs of today by contractor">
        <thead role="rowgroup">
          <tr role="row">
            <th role="columnheader" scope="col">
              Contractor
            </th>
            {TODAY_COLUMNS.map((column) => (
              <th key={column} role="columnheader" scope="col">
                {TODAY_LABELS[column]}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {(isWhole ? rows : rows.slice(0, MAX_ROWS)).map((row) => (
            <ContractorRow key={row.contractor?.id ?? ""} row={row} due={due} />
          ))}
        </tbody>
      </table>
      {rows.length > MAX_ROWS && !isWhole && (
        <Button variant="subtle" size="xs" mt="xs" onClick={() => setWhole(true)}>
          Show {formatNumber(rows.length - MAX_ROWS)} more
        </Button>
      )}
      {isWhole && rows.length === MAX_CONTRACTORS && (
        <Text fz="xs" c="dimmed" mt="xs">
          Those with most jobs, at most {MAX_CONTRACTORS}.
        </Text>
      )}
    </>
  );
}

function ContractorRow({ row: { contractor, counts }, due }: { row: Row; due: JobsSearch }) {
  const name = contractor?.name ?? NO_CONTRACTOR_LABEL;
  return (
    <tr role="row">
      <th role="rowheader" scope="row">
        {name}
      </th>
      {TODAY_COLUMNS.map((column) => (
        <td key={column} role="cell">
          {counts[column] === 0 ? (
            <Text span inherit c="dimmed">
              0
            </Text>
          ) : (
            <Link
              to="/jobs"
              search={todaySearch(column, due, contractor?.id ?? null)}
              data-late={isLateNumber(column, counts)}
            >
              {formatNumber(counts[column])}
              <VisuallyHidden>
                {" "}
                {TODAY_LABELS[column]}, {name}
              </VisuallyHidden>
            </Link>
          )}
        </td>
      ))}
    </tr>
  );
}

function isLateNumber(column: TodayColumn, counts: CountsOfTodayFragment): true | undefined {
  return (column === "late" && counts.late > 0) || undefined;
}
