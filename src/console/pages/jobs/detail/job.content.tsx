/** Details, webhook deliveries and history of a job. The frame around them, such as a page, shows the head of the job. */
import { Grid, Stack } from "@mantine/core";
import { useState } from "react";
import { useSession } from "../../../app/session/session.ts";
import type { JobRowFragment } from "../../../generated/job-row.ts";
import type { ReferenceLabels } from "../job.labels.ts";
import { JobDeliveries } from "./job.deliveries.tsx";
import { JobDetails } from "./job.details.tsx";
import { JobTimeline } from "./job.timeline.tsx";

export function JobContent({ job, labels }: { job: JobRowFragment; labels: ReferenceLabels }) {
  const { scopes } = useSession();
  const [firstVersion] = useState(job.version);
  return (
    <Grid gap="lg">
      <Grid.Col span={{ base: 12, md: 7 }}>
        <Stack gap="lg">
          <JobDetails job={job} />
          {scopes.includes("webhooks:manage") && (
            <JobDeliveries markingNumber={job.markingNumber} changes={job.version - firstVersion} />
          )}
        </Stack>
      </Grid.Col>
      <Grid.Col span={{ base: 12, md: 5 }}>
        <JobTimeline markingNumber={job.markingNumber} version={job.version} labels={labels} />
      </Grid.Col>
    </Grid>
  );
}
