/** Endpoints that are disabled or fail, of all organisations, with the longest trouble first. */
import { useQuery } from "@apollo/client/react";
import { Button, Stack, Text } from "@mantine/core";
import { IconHeartbeat } from "@tabler/icons-react";
import { useDialog } from "../../app/use-dialog.ts";
import { DataTable, type Column } from "../../components/data-table.tsx";
import { TextLink } from "../../components/links.tsx";
import { PageHeader } from "../../components/page-header.tsx";
import { EmptyState, ErrorState, LoadingState } from "../../components/states.tsx";
import { StatusBadge } from "../../components/status-badge.tsx";
import { Timestamp, useNow } from "../../components/timestamp.tsx";
import { EndpointsInTroubleDocument } from "../../generated/endpoints-in-trouble.ts";
import type { EndpointCardFragment } from "../../generated/webhook-endpoints.ts";
import { healthOf } from "../integrations/endpoint-health.ts";
import classes from "./operator.module.css";
import { ResumeDialog } from "./resume.dialog.tsx";

type Endpoint = EndpointCardFragment;

const POLL_MS = 30_000;

export function EndpointsInTroublePage() {
  const { data, error, refetch } = useQuery(EndpointsInTroubleDocument, { pollInterval: POLL_MS });
  const dialog = useDialog<Endpoint>();
  return (
    <>
      <PageHeader
        title="Endpoints in trouble"
        description="Webhook endpoints that are disabled, or whose last attempts failed. Their owners are told by mail."
      />
      {data?.endpointsInTrouble ? (
        <EndpointList endpoints={data.endpointsInTrouble} onResume={dialog.open} />
      ) : error ? (
        <ErrorState error={error} onRetry={() => void refetch()} />
      ) : (
        <LoadingState />
      )}
      {dialog.subject && (
        <ResumeDialog
          key={dialog.turn}
          opened={dialog.isOpen}
          onClose={dialog.close}
          endpoint={dialog.subject}
          onResumed={() => void refetch()}
        />
      )}
    </>
  );
}

interface EndpointListProps {
  endpoints: readonly Endpoint[];
  onResume: (endpoint: Endpoint) => void;
}

function EndpointList({ endpoints, onResume }: EndpointListProps) {
  if (endpoints.length === 0) {
    return (
      <EmptyState icon={IconHeartbeat} title="Every endpoint is well">
        An endpoint stands here from its first failure until something succeeds again.
      </EmptyState>
    );
  }
  return (
    <DataTable
      caption="Endpoints in trouble"
      columns={columnsOf(onResume)}
      rows={endpoints}
      rowKey={({ id }) => id}
    />
  );
}

function columnsOf(onResume: (endpoint: Endpoint) => void): Column<Endpoint>[] {
  return [
    { id: "url", header: "Endpoint", isTitle: true, cell: (endpoint) => <Owned endpoint={endpoint} /> },
    { id: "why", header: "What is wrong", cell: (endpoint) => <Trouble endpoint={endpoint} /> },
    {
      id: "since",
      header: "Since",
      cell: ({ failingSince, statusSince }) => <Timestamp value={failingSince ?? statusSince} />,
    },
    {
      id: "waiting",
      header: "Waiting",
      align: "end",
      cell: ({ waiting }) => (waiting >= 10_000 ? "10,000 or more" : waiting.toLocaleString("en")),
    },
    {
      id: "resume",
      header: "Resume",
      isActions: true,
      cell: (endpoint) =>
        endpoint.status === "DISABLED" && (
          <Button
            variant="default"
            size="compact-sm"
            onClick={() => onResume(endpoint)}
            aria-label={`Resume ${endpoint.url}`}
          >
            Resume…
          </Button>
        ),
    },
  ];
}

function Owned({ endpoint: { id, url, organization } }: { endpoint: Endpoint }) {
  return (
    <Stack gap={2}>
      <TextLink to="/integrations/endpoints/$id" params={{ id }} className={classes.anywhere}>
        {url}
      </TextLink>
      <Text component="span" fz="sm" fw={400}>
        <TextLink to="/operator/organizations/$id" params={{ id: organization.id }} c="dimmed">
          {organization.name}
        </TextLink>
      </Text>
    </Stack>
  );
}

function Trouble({ endpoint }: { endpoint: Endpoint }) {
  const { label, tone, sentence } = healthOf(endpoint, useNow());
  return (
    <Stack gap={4} className={classes.trouble}>
      <StatusBadge label={label} tone={tone} />
      <Text component="span" fz="sm" c="dimmed">
        {sentence}
      </Text>
    </Stack>
  );
}
