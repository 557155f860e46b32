/** Explains Agenda's dashboard and links to it. */
import { Anchor, Button, List, Paper, Stack, Text } from "@mantine/core";
import { IconExternalLink } from "@tabler/icons-react";
import { AGENDA_DASHBOARD_PATH, serverUrl } from "../../app/api/server-url.ts";
import { TextLink } from "../../components/layout/links.tsx";
import { PageHeader } from "../../components/layout/page-header.tsx";

export function TasksPage() {
  return (
    <>
      <PageHeader
        title="Tasks"
        description="Background tasks: scheduled work and retries."
        actions={
          <Button
            component="a"
            href={serverUrl(AGENDA_DASHBOARD_PATH)}
            target="_blank"
            rel="noopener"
            rightSection={<IconExternalLink size={16} aria-hidden="true" />}
          >
            Open dashboard
          </Button>
        }
      />
      <Paper p="lg" maw={720}>
        <Stack gap="sm">
          <Text>
            Agenda schedules deliveries, retries, e-mails and daily maintenance. Its dashboard opens in a new
            tab and shows each type of task, its next run and its failures.
          </Text>
          <Text fw={600}>Before you change anything</Text>
          <List spacing={6}>
            <List.Item>
              The dashboard shows when tasks run. The work itself is stored in PostgreSQL, so deleted tasks
              are created again, and running a task twice is harmless.
            </List.Item>
            <List.Item>
              To replay a webhook, use the page of the delivery or{" "}
              <TextLink to="/operator/endpoints">Failing endpoints</TextLink>. To resend an e-mail, use{" "}
              <TextLink to="/operator/mail">Mail</TextLink>.
            </List.Item>
            <List.Item>
              Tasks need MongoDB. Check its status on{" "}
              <Anchor href={serverUrl("health/ready")} target="_blank" rel="noopener" inherit>
                the health page
              </Anchor>
              .
            </List.Item>
          </List>
        </Stack>
      </Paper>
    </>
  );
}
