/** One job: details, history, webhook deliveries, and editing. Updates live. */
import { useQuery, useSubscription } from "@apollo/client/react";
import { Button, Grid, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconCalendarEvent, IconPencil } from "@tabler/icons-react";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { useSession } from "../../../app/session/session.ts";
import { useRefetch } from "../../../app/api/use-refetch.ts";
import { guide } from "../../../app/guide/guide-pages.ts";
import { CopyButton } from "../../../components/display/copy-button.tsx";
import { ButtonLink, TextLink } from "../../../components/layout/links.tsx";
import { PageHeader } from "../../../components/layout/page-header.tsx";
import { ErrorState, LoadingCard, NotFound } from "../../../components/status/page-states.tsx";
import { OtherModeHint } from "../../../components/status/other-mode-hint.tsx";
import { StatusBadge } from "../../../components/status/status-badge.tsx";
import { toneOf } from "../../../components/status/tone.ts";
import type { JobRowFragment } from "../../../generated/job-row.ts";
import { JobPageDocument, JobChangedDocument } from "../../../generated/job.ts";
import { JobDeliveries } from "./job.deliveries.tsx";
import { BulkEditDrawer } from "../bulk-edit/drawer.tsx";
import { EditJobDrawer } from "./edit-job.drawer.tsx";
import { JobDetails } from "./job.details.tsx";
import { JobTimeline } from "./job.timeline.tsx";
import { useReferenceData, type ReferenceData } from "../use-reference-data.ts";
import { useOnSubscribed } from "../../../app/api/connection-status.ts";

const route = getRouteApi("/console/jobs/$markingNumber");

export function JobPage() {
  const { markingNumber } = route.useParams();
  // The key resets all state when the job changes.
  return <JobLoader key={markingNumber} markingNumber={markingNumber} />;
}

const back = <TextLink to="/jobs">All jobs</TextLink>;

/** Also shown next to the list of jobs. */
export function JobLoader({ markingNumber }: { markingNumber: string }) {
  const query = useQuery(JobPageDocument, { variables: { markingNumber } });
  const reload = useRefetch(query);
  const { data, error, loading } = query;
  if (data?.job) return <JobView job={data.job} onReload={reload} />;
  if (loading) return <JobSkeleton markingNumber={markingNumber} />;
  if (error)
    return (
      <>
        <PageHeader title={markingNumber} back={back} />
        <ErrorState error={error} onRetry={reload} />
      </>
    );
  return (
    <NotFound
      title="Job not found"
      action={<ButtonLink to="/jobs">Go to jobs</ButtonLink>}
      guide={guide.whoSees}
    >
      You can’t see a job with the Marking Number <strong>{markingNumber}</strong>. Marking Numbers are
      case-sensitive.
      <OtherModeHint what="job" isOfTest={markingNumber.startsWith("TEST-")} />
    </NotFound>
  );
}

function JobSkeleton({ markingNumber }: { markingNumber: string }) {
  return (
    <>
      <PageHeader title={markingNumber} back={back} />
      <Grid gap="lg">
        <Grid.Col span={{ base: 12, md: 7 }}>
          <LoadingCard height={420} />
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 5 }}>
          <LoadingCard height={420} />
        </Grid.Col>
      </Grid>
    </>
  );
}

function JobView({ job, onReload }: { job: JobRowFragment; onReload: () => void }) {
  const { scopes } = useSession();
  const referenceData = useReferenceData();
  const [firstVersion] = useState(job.version);
  const changes = job.version - firstVersion;
  useLiveJob(job.markingNumber, onReload);
  return (
    <>
      <PageHeader
        title={job.markingNumber}
        back={back}
        titleAside={
          <>
            <CopyButton value={job.markingNumber} label="Marking Number" />
            <StatusBadge label={job.status.label} tone={toneOf(job.status.category)} />
          </>
        }
        actions={
          scopes.includes("jobs:write") && (
            <JobActions job={job} referenceData={referenceData} onReload={onReload} />
          )
        }
      />
      <Grid gap="lg">
        <Grid.Col span={{ base: 12, md: 7 }}>
          <Stack gap="lg">
            <JobDetails job={job} labels={referenceData.labels} />
            {scopes.includes("webhooks:manage") && (
              <JobDeliveries markingNumber={job.markingNumber} changes={changes} />
            )}
          </Stack>
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 5 }}>
          <JobTimeline
            markingNumber={job.markingNumber}
            version={job.version}
            labels={referenceData.labels}
          />
        </Grid.Col>
      </Grid>
      <Text component="div" role="status" fz={0} pos="absolute">
        {changes > 0 && `This job has changed. Its status is ${job.status.label}.`}
      </Text>
    </>
  );
}

interface JobActionsProps {
  job: JobRowFragment;
  referenceData: ReferenceData;
  onReload: () => void;
}

function JobActions({ job, referenceData, onReload }: JobActionsProps) {
  const [isEditing, editing] = useDisclosure(false);
  const [isRescheduling, rescheduling] = useDisclosure(false);
  return (
    <>
      <Button
        variant="default"
        leftSection={<IconCalendarEvent size={16} aria-hidden="true" />}
        onClick={rescheduling.open}
      >
        Reschedule
      </Button>
      <Button leftSection={<IconPencil size={16} aria-hidden="true" />} onClick={editing.open}>
        Edit
      </Button>
      <EditJobDrawer
        opened={isEditing}
        job={job}
        referenceData={referenceData}
        onClose={editing.close}
        onReload={onReload}
      />
      <BulkEditDrawer
        action={isRescheduling ? "reschedule" : null}
        jobs={{ kind: "selected", markingNumbers: [job.markingNumber] }}
        referenceData={referenceData}
        onClose={rescheduling.close}
        onApplied={onReload}
      />
    </>
  );
}

function useLiveJob(markingNumber: string, onReload: () => void): void {
  useSubscription(JobChangedDocument, {
    ignoreResults: true,
    variables: { filter: { markingNumber: { eq: markingNumber } } },
    // A query in flight may overwrite the change with older data, so refetch.
    onData: onReload,
  });
  useOnSubscribed(onReload);
}
