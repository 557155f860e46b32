/** A dashboard without a job yet: what to do until there is one. */
import { Group } from "@mantine/core";
import { IconPackage } from "@tabler/icons-react";
import { canVisit } from "../../app/session/access.ts";
import { useSession } from "../../app/session/session.ts";
import { ButtonLink } from "../../components/layout/links.tsx";
import { EmptyState } from "../../components/status/page-states.tsx";

export function FirstSteps() {
  const session = useSession();
  if (canVisit(session, "operator"))
    return (
      <EmptyState
        icon={IconPackage}
        title="No jobs yet"
        action={<ButtonLink to="/operator/import">Import jobs</ButtonLink>}
      >
        Import a file of jobs, or create them by the API. Counts, trends and what is late then stand here.
      </EmptyState>
    );
  return (
    <EmptyState
      icon={IconPackage}
      title="No jobs yet"
      action={canVisit(session, "integrations") && <NextSteps />}
    >
      As soon as there is a job for your organisation, what is due, late or in trouble stands here, and
      changes as it happens. Until then you can make your systems ready.
    </EmptyState>
  );
}

function NextSteps() {
  return (
    <Group justify="center">
      <ButtonLink to="/integrations/keys">Make an API key</ButtonLink>
      <ButtonLink to="/integrations/endpoints" variant="default">
        Add a webhook endpoint
      </ButtonLink>
    </Group>
  );
}
