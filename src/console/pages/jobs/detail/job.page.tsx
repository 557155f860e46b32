/** The page of one job: the frame around its content. Updates live. */
import { useQuery, useSubscription } from "@apollo/client/react";
import { Grid, Text } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { useOnSubscribed } from "../../../app/api/connection-status.ts";
import { useRefetch } from "../../../app/api/use-refetch.ts";
import { guide } from "../../../app/guide/guide-pages.ts";
import { useRecentJob } from "../../../app/recent-jobs.ts";
import { useSession } from "../../../app/session/session.ts";
import { CopyButton } from "../../../components/display/copy-button.tsx";
import { ButtonLink } from "../../../components/layout/links.tsx";
import { PageHeader } from "../../../components/layout/page-header.tsx";
import { OtherModeHint } from "../../../components/status/other-mode-hint.tsx";
import { ErrorState, LoadingCard, NotFound } from "../../../components/status/page-states.tsx";
import type { JobRowFragment } from "../../../generated/job-row.ts";
import { JobPageDocument, JobChangedDocument } from "../../../generated/job.ts";
import { useReferenceData } from "../use-reference-data.ts";
import { JobActions } from "./job.actions.tsx";
import { JobContent } from "./job.content.tsx";
import { JobNavigation } from "./job.navigation.tsx";
import { JobSummary } from "./job.summary.tsx";
import { PrintButton } from "./print/print.button.tsx";

const route = getRouteApi("/console/jobs/$markingNumber");

export function JobPage() {
  const { markingNumber } = route.useParams();
  // The key resets all state when the job changes.
  return <JobLoader key={markingNumber} markingNumber={markingNumber} />;
}

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
        <PageHeader title={markingNumber} back={<JobNavigation markingNumber={markingNumber} />} />
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
      <PageHeader title={markingNumber} back={<JobNavigation markingNumber={markingNumber} />} />
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
  useLiveJob(job.markingNumber, onReload);
  useRecentJob(job.markingNumber);
  return (
    <>
      <PageHeader
        title={job.markingNumber}
        back={<JobNavigation markingNumber={job.markingNumber} />}
        titleAside={<CopyButton value={job.markingNumber} label="Marking Number" />}
        summary={<JobSummary job={job} labels={referenceData.labels} />}
        actions={
          <>
            <PrintButton job={job} />
            {scopes.includes("jobs:write") && (
              <JobActions job={job} referenceData={referenceData} onReload={onReload} />
            )}
          </>
        }
      />
      <JobContent job={job} labels={referenceData.labels} />
      <Text component="div" role="status" fz={0} pos="absolute">
        {job.version > firstVersion && `This job has changed. Its status is ${job.status.label}.`}
      </Text>
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
