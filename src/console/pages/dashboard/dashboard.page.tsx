/** The dashboard: jobs per category, trends, problems, due and late jobs, recent changes. */
import { formatNumber } from "../../app/formats.ts";
import { Paper, Skeleton, Title, VisuallyHidden } from "@mantine/core";
import { useMode, useSession } from "../../app/session/session.ts";
import { LiveIndicator } from "../../components/status/live-indicator.tsx";
import { PageHeader } from "../../components/layout/page-header.tsx";
import { ErrorState } from "../../components/status/page-states.tsx";
import classes from "./dashboard.module.css";
import { DueTodayPanel, LatePanel } from "./due.panels.tsx";
import { FeedPanel } from "./feed.panel.tsx";
import { ReasonsPanel } from "./reasons.panel.tsx";
import { TodayBoard } from "./today.board.tsx";
import { TrendPanel } from "./trend.panel.tsx";
import { useDashboard, type Dashboard } from "./use-dashboard.ts";
import { Link } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { StatusBadge } from "../../components/status/status-badge.tsx";
import { toneOf } from "../../components/status/tone.ts";
import { CATEGORY_LABELS } from "../jobs/job.category.ts";
import { categoryCounts } from "./dashboard.metrics.ts";

const Checklist = lazy(async () => ({ default: (await import("./checklist.tsx")).Checklist }));
const FirstSteps = lazy(async () => ({ default: (await import("./first-steps.tsx")).FirstSteps }));

export function DashboardPage() {
  const { organization } = useSession();
  const isTest = useMode() === "test";
  const dashboard = useDashboard();
  return (
    <>
      <PageHeader
        title="Dashboard"
        description={
          organization
            ? `${isTest ? "Test jobs" : "Jobs"} of ${organization.name}`
            : "Jobs of all organisations"
        }
        actions={
          <LiveIndicator
            error={dashboard.error}
            isPaused={dashboard.isPaused}
            onToggle={dashboard.togglePause}
          />
        }
      />
      {(isTest || dashboard.data?.categories?.total === 0) && (
        <Suspense>
          <Checklist />
        </Suspense>
      )}
      <Content dashboard={dashboard} />
    </>
  );
}

function Content({ dashboard }: { dashboard: Dashboard }) {
  const { data, error, refetch } = dashboard;
  if (!data) return error ? <ErrorState error={error} onRetry={refetch} /> : <DashboardSkeleton />;
  if (data.categories?.total === 0)
    return (
      <Suspense fallback={<DashboardSkeleton />}>
        <FirstSteps />
      </Suspense>
    );
  return (
    <>
      <TodayBoard dashboard={dashboard} />
      <div className={classes.trio}>
        <DueTodayPanel dashboard={dashboard} />
        <LatePanel dashboard={dashboard} />
        <FeedPanel dashboard={dashboard} />
      </div>
      <Title order={2} mt="xl" mb="sm">
        All jobs
      </Title>
      <CategoryTiles dashboard={dashboard} />
      <div className={classes.pair}>
        <TrendPanel dashboard={dashboard} />
        <ReasonsPanel dashboard={dashboard} />
      </div>
    </>
  );
}

/** The number of jobs per category. Each tile links to its jobs. */
function CategoryTiles({ dashboard: { data, error, refetch } }: { dashboard: Dashboard }) {
  if (!data?.categories)
    return (
      <Paper>
        <ErrorState error={error} onRetry={refetch} />
      </Paper>
    );
  return (
    <ul aria-label="Jobs by category" className={classes.tiles}>
      {categoryCounts(data.categories.groups).map(({ category, count }) => (
        <li key={category}>
          <Link to="/jobs" search={{ category: [category] }} className={classes.tile}>
            <StatusBadge label={CATEGORY_LABELS[category]} tone={toneOf(category)} />
            <span className={classes.count}>{formatNumber(count)}</span>
          </Link>
        </li>
      ))}
    </ul>
  );
}

/** Placeholder with the dashboard's layout while it loads. */
function DashboardSkeleton() {
  return (
    <div role="status" aria-busy="true">
      <VisuallyHidden>Loading the dashboard…</VisuallyHidden>
      <Skeleton height={390} radius="lg" aria-hidden="true" />
      <div className={classes.trio} aria-hidden="true">
        {Array.from({ length: 3 }, (_, index) => (
          <Skeleton key={index} height={360} radius="lg" />
        ))}
      </div>
    </div>
  );
}
