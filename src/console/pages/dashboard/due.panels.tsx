/** The jobs due today, and late jobs. */
import { formatCount } from "../../app/formats.ts";
import { VisuallyHidden } from "@mantine/core";
import type { ReactNode } from "react";
import { guide } from "../../app/guide/guide-pages.ts";
import { TextLink } from "../../components/layout/links.tsx";
import { EmptyNote } from "../../components/status/empty-note.tsx";
import { StatusBadge } from "../../components/status/status-badge.tsx";
import { toneOf } from "../../components/status/tone.ts";
import type { DashboardJobFragment, ShortListFragment } from "../../generated/dashboard.ts";
import { dueDay } from "../jobs/job.due.ts";
import type { JobsSearch } from "../jobs/filters/jobs.search.ts";
import { daysBetween, LATE, unfinishedToday } from "./dashboard.metrics.ts";
import classes from "./dashboard.module.css";
import { DashboardPanel } from "./dashboard.panel.tsx";
import type { Dashboard } from "./use-dashboard.ts";

export function DueTodayPanel({ dashboard: { data, error, refetch } }: { dashboard: Dashboard }) {
  return (
    <DashboardPanel
      title="Due today"
      part={data?.due}
      error={error}
      onRetry={refetch}
      action={<SeeAllLink list={data?.due} search={unfinishedToday} />}
    >
      {({ nodes }) => (
        <ShortList jobs={nodes} empty="No open jobs are due today.">
          {({ postalCode }) =>
            postalCode && (
              <>
                <VisuallyHidden>Postal code </VisuallyHidden>
                {postalCode}
              </>
            )
          }
        </ShortList>
      )}
    </DashboardPanel>
  );
}

export function LatePanel({ dashboard: { data, error, refetch, today } }: { dashboard: Dashboard }) {
  return (
    <DashboardPanel
      title="Late"
      part={data?.late}
      error={error}
      onRetry={refetch}
      action={<SeeAllLink list={data?.late} search={LATE} />}
    >
      {({ nodes }) => (
        <ShortList jobs={nodes} empty="No late jobs.">
          {(job) => {
            const due = dueDay(job);
            return (
              due && <span className={classes.late}>{formatCount(daysBetween(due, today), "day")} late</span>
            );
          }}
        </ShortList>
      )}
    </DashboardPanel>
  );
}

function SeeAllLink({ list, search }: { list: ShortListFragment | null | undefined; search: JobsSearch }) {
  if (!list || list.nodes.length === 0) return null;
  return (
    <TextLink to="/jobs" search={search} fz="sm">
      See all
    </TextLink>
  );
}

interface ShortListProps {
  jobs: readonly DashboardJobFragment[];
  empty: string;
  /** Extra text for one job, such as how late it is. */
  children: (job: DashboardJobFragment) => ReactNode;
}

function ShortList({ jobs, empty, children }: ShortListProps) {
  if (jobs.length === 0) return <EmptyNote guide={guide.dashboard}>{empty}</EmptyNote>;
  return (
    <ul className={classes.list}>
      {jobs.map((job) => (
        <li key={job.id} className={classes.row}>
          <div className={classes.line}>
            <JobLink markingNumber={job.markingNumber} />
            <StatusBadge label={job.status.label} tone={toneOf(job.status.category)} />
          </div>
          <div className={classes.details}>
            <span className={classes.small}>{job.recipientName ?? "No recipient"}</span>
            <span className={classes.small}>{children(job)}</span>
          </div>
        </li>
      ))}
    </ul>
  );
}

export function JobLink({ markingNumber }: { markingNumber: string }) {
  return (
    <TextLink
      to="/jobs/$markingNumber"
      params={{ markingNumber }}
      fw={600}
      fz="sm"
      style={{ overflowWrap: "anywhere" }}
    >
      {markingNumber}
    </TextLink>
  );
}
