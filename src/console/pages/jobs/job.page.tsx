/** One job: what is known of it, what happened to it, whom it was told to, and the way to change it. It follows what others do. */
import { useQuery } from "@apollo/client/react";
import { Button, Grid, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPencil } from "@tabler/icons-react";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { useSession } from "../../app/session.ts";
import { useReadAnew } from "../../app/use-read-anew.ts";
import { CopyButton } from "../../components/copy-button.tsx";
import { ButtonLink, TextLink } from "../../components/links.tsx";
import { PageHeader } from "../../components/page-header.tsx";
import { ErrorState, LoadingCard, NotFound } from "../../components/states.tsx";
import { StatusBadge } from "../../components/status-badge.tsx";
import { toneOf } from "../../components/tone.ts";
import type { JobRowFragment } from "../../generated/job-row.ts";
import { JobPageDocument } from "../../generated/job.ts";
import { JobDeliveries } from "./job.deliveries.tsx";
import { EditJobDrawer } from "./job.edit.tsx";
import { JobFacts } from "./job.facts.tsx";
import { JobTimeline } from "./job.timeline.tsx";
import { useChoices } from "./use-choices.ts";
import { useLiveJob } from "./use-live-job.ts";

const route = getRouteApi("/console/jobs/$markingNumber");

export function JobPage() {
  const { markingNumber } = route.useParams();
  // Another job is another page: nothing of the former one's form stays.
  return <JobOf key={markingNumber} markingNumber={markingNumber} />;
}

const back = <TextLink to="/jobs">All jobs</TextLink>;

function JobOf({ markingNumber }: { markingNumber: string }) {
  const asked = useQuery(JobPageDocument, { variables: { markingNumber } });
  const reload = useReadAnew(asked);
  const { data, error, loading } = asked;
  if (data?.job) return <KnownJob job={data.job} onReload={reload} />;
  if (loading) return <LoadingJob markingNumber={markingNumber} />;
  if (error)
    return (
      <>
        <PageHeader title={markingNumber} back={back} />
        <ErrorState error={error} onRetry={reload} />
      </>
    );
  return (
    <NotFound action={<ButtonLink to="/jobs">To the jobs</ButtonLink>}>
      No job that you may see has the Marking Number <strong>{markingNumber}</strong>. It is written exactly
      so, capitals and all.
    </NotFound>
  );
}

function LoadingJob({ markingNumber }: { markingNumber: string }) {
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

function KnownJob({ job, onReload }: { job: JobRowFragment; onReload: () => void }) {
  const { scopes } = useSession();
  const choices = useChoices();
  const [isEditing, editing] = useDisclosure(false);
  const [firstVersion] = useState(job.version);
  const changes = job.version - firstVersion;
  useLiveJob(job.markingNumber, onReload);
  return (
    <>
      <PageHeader
        title={job.markingNumber}
        back={back}
        beside={
          <>
            <CopyButton value={job.markingNumber} label="Marking Number" />
            <StatusBadge label={job.status.label} tone={toneOf(job.status.category)} />
          </>
        }
        actions={
          scopes.includes("jobs:write") && (
            <Button leftSection={<IconPencil size={16} aria-hidden="true" />} onClick={editing.open}>
              Edit
            </Button>
          )
        }
      />
      <Grid gap="lg">
        <Grid.Col span={{ base: 12, md: 7 }}>
          <Stack gap="lg">
            <JobFacts job={job} names={choices.names} />
            {scopes.includes("webhooks:manage") && (
              <JobDeliveries markingNumber={job.markingNumber} changes={changes} />
            )}
          </Stack>
        </Grid.Col>
        <Grid.Col span={{ base: 12, md: 5 }}>
          <JobTimeline markingNumber={job.markingNumber} version={job.version} names={choices.names} />
        </Grid.Col>
      </Grid>
      <Text component="div" role="status" fz={0} pos="absolute">
        {changes > 0 && `This job has changed. It is ${job.status.label} now.`}
      </Text>
      <EditJobDrawer
        opened={isEditing}
        job={job}
        choices={choices}
        onClose={editing.close}
        onReload={onReload}
      />
    </>
  );
}
