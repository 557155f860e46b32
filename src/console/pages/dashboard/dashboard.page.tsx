/** The dashboard: jobs per category, trends, problems, due and late jobs, recent changes. */
import { Grid } from "@mantine/core";
import { useMode, useSession } from "../../app/session/session.ts";
import { LiveIndicator } from "../../components/status/live-indicator.tsx";
import { PageHeader } from "../../components/layout/page-header.tsx";
import { ErrorState } from "../../components/status/page-states.tsx";
import classes from "./dashboard.module.css";
import { CategoryTiles } from "./category-tiles.tsx";
import { Checklist } from "./checklist.tsx";
import { DashboardSkeleton } from "./dashboard.skeleton.tsx";
import { DueTodayPanel, LatePanel } from "./due.panels.tsx";
import { FeedPanel } from "./feed.panel.tsx";
import { FirstSteps } from "./first-steps.tsx";
import { ReasonsPanel } from "./reasons.panel.tsx";
import { TrendPanel } from "./trend.panel.tsx";
import { useDashboard, type Dashboard } from "./use-dashboard.ts";

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
        actions={<LiveIndicator isPaused={dashboard.isPaused} onToggle={dashboard.togglePause} />}
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
      <CategoryTiles dashboard={dashboard} />
      <Grid gap="lg" mt="lg">
        <Grid.Col span={{ base: 12, lg: 8 }}>
          <TrendPanel dashboard={dashboard} />
        </Grid.Col>
        <Grid.Col span={{ base: 12, lg: 4 }}>
          <ReasonsPanel dashboard={dashboard} />
        </Grid.Col>
      </Grid>
      <div className={classes.trio}>
        <DueTodayPanel dashboard={dashboard} />
        <LatePanel dashboard={dashboard} />
        <FeedPanel dashboard={dashboard} />
      </div>
    </>
  );
}
