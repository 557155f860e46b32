/** The dashboard before the first job. */
import { Group } from "@mantine/core";
import { IconPackage } from "@tabler/icons-react";
import { guide } from "../../app/guide/guide-pages.ts";
import { canVisit } from "../../app/session/access.ts";
import { useMode, useSession } from "../../app/session/session.ts";
import { ButtonLink } from "../../components/layout/links.tsx";
import { NoTestJobs } from "../../components/status/no-test-jobs.tsx";
import { EmptyState } from "../../components/status/page-states.tsx";

export function FirstSteps() {
  const session = useSession();
  const mode = useMode();
  if (mode === "test") return <NoTestJobs />;
  if (canVisit(session, "operator"))
    return (
      <EmptyState
        icon={IconPackage}
        title="No jobs yet"
        guide={guide.importing}
        action={<ButtonLink to="/import">Import jobs</ButtonLink>}
      >
        Import a file or create jobs through the API. Counts, trends and late jobs will appear here.
      </EmptyState>
    );
  return (
    <EmptyState
      icon={IconPackage}
      title="No jobs yet"
      action={(canVisit(session, "import") || canVisit(session, "integrations")) && <NextSteps />}
    >
      As soon as your organisation has a job, its due date, delays and problems appear here, updated live.
      Meanwhile, connect your systems.
    </EmptyState>
  );
}

function NextSteps() {
  const session = useSession();
  return (
    <Group justify="center">
      {canVisit(session, "import") && <ButtonLink to="/import">Import jobs</ButtonLink>}
      {canVisit(session, "integrations") && (
        <>
          <ButtonLink to="/integrations/keys">Create an API key</ButtonLink>
          <ButtonLink to="/integrations/endpoints" variant="default">
            Add a webhook endpoint
          </ButtonLink>
        </>
      )}
    </Group>
  );
}
