/** The simulator of test mode: creates jobs, runs them, and shows their events and deliveries as they happen. */
import { Stack } from "@mantine/core";
import { LiveIndicator } from "../../components/status/live-indicator.tsx";
import { PageHeader } from "../../components/layout/page-header.tsx";
import { ErrorState, LoadingCard } from "../../components/status/page-states.tsx";
import { CreateJobsPanel } from "./create-jobs.panel.tsx";
import { FaultPanel } from "./fault.panel.tsx";
import { JobsPanel } from "./jobs.panel.tsx";
import { ResetAction } from "./reset.action.tsx";
import { RunPanel } from "./run.panel.tsx";
import classes from "./simulator.module.css";
import { useSimulator, type Simulator } from "./use-simulator.ts";
import { Watch } from "./watch.tsx";

export function SimulatorPage() {
  const simulator = useSimulator();
  return (
    <>
      <PageHeader
        title="Simulator"
        description="Create test jobs, drive them through their statuses, and watch what your integration receives. Live data is not affected."
        actions={
          <>
            <LiveIndicator isPaused={simulator.isPaused} onToggle={simulator.togglePause} />
            <ResetAction onReset={simulator.reset} />
          </>
        }
      />
      <Content simulator={simulator} />
    </>
  );
}

function Content({ simulator }: { simulator: Simulator }) {
  const { jobs, error, reload } = simulator;
  if (!jobs) return error ? <ErrorState error={error} onRetry={reload} /> : <Loading />;
  return (
    <div className={classes.columns}>
      <Stack gap="lg">
        <CreateJobsPanel onCreated={simulator.select} />
        <JobsPanel simulator={simulator} />
      </Stack>
      <RunPanel simulator={simulator} />
      <div className={classes.watch}>
        <Watch simulator={simulator} />
      </div>
      <FaultPanel />
    </div>
  );
}

function Loading() {
  return (
    <div className={classes.columns}>
      <LoadingCard height={320} />
      <LoadingCard height={320} />
    </div>
  );
}
