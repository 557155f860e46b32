/** What Agenda's own dashboard is for, and the way to it. */
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
        description="What this service does by itself, at set times and again after failures."
        actions={
          <Button
            component="a"
            href={serverUrl(AGENDA_DASHBOARD_PATH)}
            target="_blank"
            rel="noopener"
            rightSection={<IconExternalLink size={16} aria-hidden="true" />}
          >
            Open the dashboard
          </Button>
        }
      />
      <Paper p="lg" maw={720}>
        <Stack gap="sm">
          <Text>
            Agenda schedules deliveries, their retries, mails and the daily housekeeping. Its own dashboard,
            in a page of its own, shows each kind of task, when it runs next, and what failed.
          </Text>
          <Text fw={600}>Before you change anything there</Text>
          <List spacing={6}>
            <List.Item>
              It shows when something is looked at, not what is due: that is in PostgreSQL. A task that you
              delete comes back by itself, and a task that you run again does no harm.
            </List.Item>
            <List.Item>
              To send a webhook again use <TextLink to="/operator/endpoints">Endpoints</TextLink> or a
              delivery’s own page; to send a mail again, <TextLink to="/operator/mail">Mail</TextLink>.
            </List.Item>
            <List.Item>
              It needs MongoDB. Whether that is there says{" "}
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
