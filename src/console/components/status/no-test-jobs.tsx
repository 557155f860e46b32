/** An empty dashboard or job list in test mode. */
import { Code, Group } from "@mantine/core";
import { IconTestPipe } from "@tabler/icons-react";
import { canVisit } from "../../app/session/access.ts";
import { useSession } from "../../app/session/session.ts";
import { ButtonLink } from "../layout/links.tsx";
import { EmptyState } from "./page-states.tsx";

export function NoTestJobs() {
  const session = useSession();
  const mayManageKeys = canVisit(session, "integrations");
  if (!canVisit(session, "simulator"))
    return (
      <EmptyState icon={IconTestPipe} title="No test jobs yet">
        They appear here as soon as someone with another role creates them.
      </EmptyState>
    );
  return (
    <EmptyState
      icon={IconTestPipe}
      title="No test jobs yet"
      action={
        <Group justify="center">
          <ButtonLink to="/simulator">Open the simulator</ButtonLink>
          {mayManageKeys && (
            <ButtonLink to="/integrations/keys" variant="default">
              Create a test key
            </ButtonLink>
          )}
        </Group>
      }
    >
      Create test jobs in the simulator, or with a test key and <Code>POST /v1/test/jobs</Code>. No parcel
      moves, but webhooks are sent to your test endpoints.
    </EmptyState>
  );
}
