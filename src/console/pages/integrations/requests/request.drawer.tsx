/** The details of one request, next to the log. */
import { useQuery } from "@apollo/client/react";
import { Badge, Code, Group, Stack, Text, Title } from "@mantine/core";
import { IconBulb } from "@tabler/icons-react";
import { errorCodeGuide, guide } from "../../../app/guide/guide-pages.ts";
import { CodeBlock } from "../../../components/display/code-block.tsx";
import { CopyButton } from "../../../components/display/copy-button.tsx";
import { Dialog } from "../../../components/dialogs/dialog.tsx";
import { DescriptionList } from "../../../components/display/description-list.tsx";
import { EmptyState, ErrorState, LoadingState } from "../../../components/status/page-states.tsx";
import { Timestamp } from "../../../components/display/timestamp.tsx";
import { RequestLogEntryDocument, type RequestLogEntryQuery } from "../../../generated/request-log.ts";
import { errorHint, errorLabel } from "./error-hints.ts";
import classes from "../integrations.module.css";
import { formatDuration, formatBody } from "../formatting.ts";
import { Alert } from "../../../components/status/alert.tsx";
import { HttpStatus, RequestKey } from "./requests.table.tsx";

type Entry = NonNullable<RequestLogEntryQuery["requestLog"]>["edges"][number]["node"];

interface RequestDrawerProps {
  /** Undefined while the drawer is closed. */
  requestId: string | undefined;
  onClose: () => void;
}

export function RequestDrawer({ requestId, onClose }: RequestDrawerProps) {
  return (
    <Dialog isDrawer opened={requestId !== undefined} onClose={onClose} size="lg" title="Request">
      {requestId !== undefined && <RequestDetails requestId={requestId} />}
    </Dialog>
  );
}

function RequestDetails({ requestId }: { requestId: string }) {
  const { data, error, refetch } = useQuery(RequestLogEntryDocument, { variables: { requestId } });
  const entry = data?.requestLog?.edges[0]?.node;
  if (entry) return <EntryView entry={entry} />;
  if (error) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (!data) return <LoadingState label="Loading the request" />;
  return (
    <EmptyState title="Request not found" guide={guide.requestsAndUsage}>
      It may be older than the log. New requests appear after a few seconds.
    </EmptyState>
  );
}

function EntryView({ entry }: { entry: Entry }) {
  return (
    <Stack>
      <Text className={classes.anywhere} fw={600}>
        <span className={classes.method}>{entry.method}</span> {entry.path}
      </Text>
      <DescriptionList items={factsOf(entry)} />
      {entry.errorCode !== null && (
        <Alert
          color="blue"
          icon={<IconBulb aria-hidden="true" />}
          title="How to fix it"
          guide={errorCodeGuide(entry.errorCode)}
        >
          {errorHint(entry.errorCode)}
        </Alert>
      )}
      <Bodies entry={entry} />
    </Stack>
  );
}

function factsOf(entry: Entry) {
  return [
    { label: "Status", value: <HttpStatus status={entry.status} /> },
    ...(entry.errorCode === null ? [] : [{ label: "Error", value: <ErrorCode code={entry.errorCode} /> }]),
    ...(entry.simulated === null
      ? []
      : [
          {
            label: "Test",
            value: (
              <>
                <Badge color="gray">Simulated</Badge>{" "}
                <Code className={classes.quietCode}>X-Waymark-Simulate: {entry.simulated}</Code>
              </>
            ),
          },
        ]),
    ...(entry.ignoredParameters.length === 0
      ? []
      : [
          {
            label: "Ignored parameters",
            value: <Code className={classes.quietCode}>{entry.ignoredParameters.join(", ")}</Code>,
          },
        ]),
    { label: "Key", value: <RequestKey request={entry} /> },
    { label: "Time", value: <Timestamp value={entry.at} display="exact" /> },
    { label: "Duration", value: formatDuration(entry.durationMs) },
    {
      label: "Request ID",
      value: (
        <>
          <Code className={classes.quietCode}>{entry.requestId}</Code>{" "}
          <CopyButton value={entry.requestId} label="request ID" />
        </>
      ),
    },
  ];
}

function ErrorCode({ code }: { code: string }) {
  return (
    <>
      {errorLabel(code)} <Code className={classes.quietCode}>{code}</Code>
    </>
  );
}

function Bodies({ entry: { status, requestBody, responseBody } }: { entry: Entry }) {
  if (status < 400) {
    return (
      <Text c="dimmed" fz="sm">
        Bodies are stored only for failed requests.
      </Text>
    );
  }
  return (
    <>
      <BodySection title="Request" label="request body" body={requestBody} />
      <BodySection title="Response" label="response body" body={responseBody} />
      <Group>
        <Text c="dimmed" fz="sm">
          Only the first 4 KiB of each body are stored. Personal data is masked.
        </Text>
      </Group>
    </>
  );
}

function BodySection({ title, label, body }: { title: string; label: string; body: string | null }) {
  return (
    <Stack gap="xs">
      <Title order={3}>{title}</Title>
      {body === null || body === "" ? (
        <Text c="dimmed" fz="sm">
          No body
        </Text>
      ) : (
        <CodeBlock code={formatBody(body)} label={label} wrap />
      )}
    </Stack>
  );
}
