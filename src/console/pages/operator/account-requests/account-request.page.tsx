/** One account request: its details, its history and the decision. */
import { useQuery } from "@apollo/client/react";
import { List, Paper, Stack, Text, Title } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import { getRouteApi } from "@tanstack/react-router";
import { TextLink } from "../../../components/layout/links.tsx";
import { PageHeader } from "../../../components/layout/page-header.tsx";
import { ErrorState, LoadingState, NotFound } from "../../../components/status/page-states.tsx";
import { StatusBadge } from "../../../components/status/status-badge.tsx";
import {
  AccountRequestPageDocument,
  type AccountRequestViewFragment,
} from "../../../generated/account-request.ts";
import { AccountRequestActions } from "./account-request.actions.tsx";
import { AccountRequestDetails } from "./account-request.details.tsx";
import { AccountRequestTimeline } from "./account-request.timeline.tsx";
import { requestStatusLabels } from "./account-request.labels.ts";
import { NoteForm } from "./note.form.tsx";
import classes from "../operator.module.css";
import { Alert } from "../../../components/status/alert.tsx";

const route = getRouteApi("/console/operator/requests/$id");

const back = <TextLink to="/operator/requests">Account requests</TextLink>;

export function AccountRequestPage() {
  const { id } = route.useParams();
  const { data, error, refetch } = useQuery(AccountRequestPageDocument, { variables: { id } });
  const node = data?.node;
  const request = node && "email" in node ? (node as AccountRequestViewFragment) : null;
  if (request) return <RequestView key={request.id} request={request} />;
  if (data)
    return (
      <NotFound title="Request not found" action={back}>
        This account request doesn’t exist.
      </NotFound>
    );
  return (
    <>
      <PageHeader title="Account request" back={back} />
      {error ? <ErrorState error={error} onRetry={() => void refetch()} /> : <LoadingState />}
    </>
  );
}

function RequestView({ request }: { request: AccountRequestViewFragment }) {
  const status = requestStatusLabels[request.status];
  return (
    <>
      <PageHeader
        title={request.organizationName}
        titleAside={<StatusBadge {...status} />}
        description={status.nextStep}
        back={back}
        actions={<AccountRequestActions request={request} />}
      />
      <div className={classes.columns}>
        <Stack gap="lg">
          <Warnings warnings={request.warnings} />
          <Message message={request.message} />
          <section aria-labelledby="timeline">
            <Title order={2} id="timeline" mb="sm">
              Activity
            </Title>
            <AccountRequestTimeline request={request} />
          </section>
          <NoteForm id={request.id} />
        </Stack>
        <AccountRequestDetails request={request} />
      </div>
    </>
  );
}

function Warnings({ warnings }: { warnings: readonly string[] }) {
  if (warnings.length === 0) return null;
  return (
    <Alert
      color="amber"
      icon={<IconAlertTriangle aria-hidden="true" />}
      title="Check before you decide"
      guide="screen"
    >
      <List fz="sm">
        {warnings.map((warning) => (
          <List.Item key={warning}>{warning}</List.Item>
        ))}
      </List>
    </Alert>
  );
}

function Message({ message }: { message: string | null }) {
  return (
    <Paper component="section" p="lg" aria-label="Message">
      <Text c="dimmed" fz="sm" mb={4}>
        Message
      </Text>
      {message === null ? (
        <Text c="dimmed">No message</Text>
      ) : (
        <Text className={classes.words}>{message}</Text>
      )}
    </Paper>
  );
}
