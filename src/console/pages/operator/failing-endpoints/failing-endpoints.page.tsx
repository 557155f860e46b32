/** Failing and disabled endpoints of all organisations, longest failure first. */
import { formatNumber } from "../../../app/formats.ts";
import { useQuery } from "@apollo/client/react";
import { Button, Stack, Text } from "@mantine/core";
import { IconHeartbeat } from "@tabler/icons-react";
import { useDialog } from "../../../app/interaction/use-dialog.ts";
import { DataTable, type Column } from "../../../components/tables/data-table.tsx";
import { TextLink } from "../../../components/layout/links.tsx";
import { PageHeader } from "../../../components/layout/page-header.tsx";
import { EmptyState, ErrorState, LoadingState } from "../../../components/status/page-states.tsx";
import { StatusBadge } from "../../../components/status/status-badge.tsx";
import { useNow } from "../../../app/clock.ts";
import { Timestamp } from "../../../components/display/timestamp.tsx";
import { FailingEndpointsDocument } from "../../../generated/failing-endpoints.ts";
import type { EndpointCardFragment } from "../../../generated/webhook-endpoints.ts";
import { describeHealth } from "../../integrations/endpoints/endpoint.health.ts";
import classes from "../operator.module.css";
import { ResumeEndpointDialog } from "../../integrations/endpoints/resume-endpoint.dialog.tsx";

type Endpoint = EndpointCardFragment;

const POLL_INTERVAL_MS = 30_000;

export function FailingEndpointsPage() {
  const { data, error, refetch } = useQuery(FailingEndpointsDocument, { pollInterval: POLL_INTERVAL_MS });
  const dialog = useDialog<Endpoint>();
  return (
    <>
      <PageHeader
        title="Failing endpoints"
        description="Webhook endpoints that are disabled or whose latest attempts failed. Owners get an e-mail after four failed attempts for an event, and when an endpoint is disabled (after five days of failures, or at once on 410 Gone)."
      />
      {data?.failingWebhookEndpoints ? (
        <EndpointList endpoints={data.failingWebhookEndpoints} onResume={dialog.open} />
      ) : error ? (
        <ErrorState error={error} onRetry={() => void refetch()} />
      ) : (
        <LoadingState />
      )}
      <ResumeEndpointDialog dialog={dialog} onResumed={() => void refetch()} />
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
      <EmptyState icon={IconHeartbeat} title="All endpoints are healthy">
        An endpoint appears here from its first failure until its next success.
      </EmptyState>
    );
  }
  return (
    <DataTable
      caption="Failing endpoints"
      columns={endpointColumns(onResume)}
      rows={endpoints}
      rowKey={({ id }) => id}
    />
  );
}

function endpointColumns(onResume: (endpoint: Endpoint) => void): Column<Endpoint>[] {
  return [
    {
      id: "url",
      header: "Endpoint",
      isTitle: true,
      cell: (endpoint) => <EndpointCell endpoint={endpoint} />,
    },
    { id: "why", header: "Problem", cell: (endpoint) => <HealthCell endpoint={endpoint} /> },
    {
      id: "since",
      header: "Since",
      cell: ({ failingSince, statusSince }) => <Timestamp value={failingSince ?? statusSince} />,
    },
    {
      id: "pending",
      header: "Pending",
      align: "end",
      cell: ({ pending }) => (pending >= 10_000 ? "10,000 or more" : formatNumber(pending)),
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

function EndpointCell({ endpoint: { id, url, organization } }: { endpoint: Endpoint }) {
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

function HealthCell({ endpoint }: { endpoint: Endpoint }) {
  const { label, tone, message } = describeHealth(endpoint, useNow());
  return (
    <Stack gap={4} className={classes.trouble}>
      <StatusBadge label={label} tone={tone} />
      <Text component="span" fz="sm" c="dimmed">
        {message}
      </Text>
    </Stack>
  );
}
