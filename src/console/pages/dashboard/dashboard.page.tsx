/** The dashboard: jobs per category, trends, problems, due and late jobs, recent changes. */
import { formatNumber } from "../../app/formats.ts";
import { Grid, Paper, SimpleGrid, Skeleton, Title, VisuallyHidden } from "@mantine/core";
import { useMode, useSession } from "../../app/session/session.ts";
import { LiveIndicator } from "../../components/status/live-indicator.tsx";
import { PageHeader } from "../../components/layout/page-header.tsx";
import { ErrorState } from "../../components/status/page-states.tsx";
import classes from "./dashboard.module.css";
import { Checklist } from "./checklist.tsx";
import { DueTodayPanel, LatePanel } from "./due.panels.tsx";
import { FeedPanel } from "./feed.panel.tsx";
import { FirstSteps } from "./first-steps.tsx";
import { ReasonsPanel } from "./reasons.panel.tsx";
import { TodayBoard } from "./today.board.tsx";
import { TrendPanel } from "./trend.panel.tsx";
import { useDashboard, type Dashboard } from "./use-dashboard.ts";
import { Link } from "@tanstack/react-router";
import { StatusBadge } from "../../components/status/status-badge.tsx";
import { toneOf } from "../../components/status/tone.ts";
import { CATEGORY_LABELS } from "../jobs/job.category.ts";
import { categoryCounts } from "./dashboard.metrics.ts";

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
      {(isTest || dashboard.data?.categories?.total === 0) && <Checklist />}
      <Content dashboard={dashboard} />
    </>
  );
}

function Content({ dashboard }: { dashboard: Dashboard }) {
  const { data, error, refetch } = dashboard;
  if (!data) return error ? <ErrorState error={error} onRetry={refetch} /> : <DashboardSkeleton />;
  if (data.categories?.total === 0) return <FirstSteps />;
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
      <Grid gap="lg" mt="lg">
        <Grid.Col span={{ base: 12, lg: 8 }}>
          <TrendPanel dashboard={dashboard} />
        </Grid.Col>
        <Grid.Col span={{ base: 12, lg: 4 }}>
          <ReasonsPanel dashboard={dashboard} />
        </Grid.Col>
      </Grid>
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
    <SimpleGrid
      component="ul"
      aria-label="Jobs by category"
      cols={{ base: 2, xs: 3, lg: 6 }}
      spacing="sm"
      m={0}
      p={0}
    >
      {categoryCounts(data.categories.groups).map(({ category, count }) => (
        <li key={category} style={{ listStyle: "none" }}>
          <Link to="/jobs" search={{ category: [category] }} className={classes.tile}>
            <StatusBadge label={CATEGORY_LABELS[category]} tone={toneOf(category)} />
            <span className={classes.count}>{formatNumber(count)}</span>
          </Link>
        </li>
      ))}
    </SimpleGrid>
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
