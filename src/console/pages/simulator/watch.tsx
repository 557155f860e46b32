/** The selected job with its history and the deliveries of its events. */
import { Group, Paper, Stack, Text } from "@mantine/core";
import { IconRoute } from "@tabler/icons-react";
import { guide } from "../../app/guide/guide-pages.ts";
import { useSession } from "../../app/session/session.ts";
import { CopyButton } from "../../components/display/copy-button.tsx";
import { TextLink } from "../../components/layout/links.tsx";
import { Panel } from "../../components/layout/panel.tsx";
import { EmptyState } from "../../components/status/page-states.tsx";
import { StatusBadge } from "../../components/status/status-badge.tsx";
import { toneOf } from "../../components/status/tone.ts";
import { JobTimeline } from "../jobs/detail/job.timeline.tsx";
import { useReferenceData } from "../jobs/use-reference-data.ts";
import classes from "./simulator.module.css";
import type { Simulator } from "./use-simulator.ts";
import { WatchedDeliveries } from "./watched-deliveries.tsx";

export function Watch({ simulator: { job, unknownJob, isPaused } }: { simulator: Simulator }) {
  const { scopes } = useSession();
  const { labels } = useReferenceData();
  if (!job) return <Nothing unknownJob={unknownJob} />;
  const { markingNumber, status, version } = job;
  return (
    <Stack gap="lg">
      <Panel
        title="Watch"
        actions={
          <TextLink to="/jobs/$markingNumber" params={{ markingNumber }} fz="sm">
            Open the job
          </TextLink>
        }
      >
        <Group gap="sm">
          <Group gap={2} className={classes.number}>
            <Text fw={600}>{markingNumber}</Text>
            <CopyButton value={markingNumber} label="Marking Number" />
          </Group>
          <StatusBadge label={status.label} tone={toneOf(status.category)} />
        </Group>
      </Panel>
      {scopes.includes("webhooks:manage") && (
        <WatchedDeliveries
          key={`deliveries ${markingNumber}`}
          markingNumber={markingNumber}
          isPaused={isPaused}
        />
      )}
      <JobTimeline key={markingNumber} markingNumber={markingNumber} version={version} labels={labels} />
    </Stack>
  );
}

function Nothing({ unknownJob }: { unknownJob: string | null }) {
  return (
    <Paper p="lg">
      {unknownJob === null ? (
        <EmptyState icon={IconRoute} title="Nothing to watch yet" guide={guide.runTestJob}>
          Create a job and start a run. Its history and webhook deliveries appear here as they happen.
        </EmptyState>
      ) : (
        <EmptyState icon={IconRoute} title="Job not found">
          There is no test job with the Marking Number <strong>{unknownJob}</strong>. Select another one.
        </EmptyState>
      )}
    </Paper>
  );
}
