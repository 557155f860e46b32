/** One endpoint: its health, recent deliveries, settings and secret. */
import { useQuery } from "@apollo/client/react";
import { Stack } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { CopyButton } from "../../../components/display/copy-button.tsx";
import { ButtonLink } from "../../../components/layout/links.tsx";
import { PageHeader } from "../../../components/layout/page-header.tsx";
import { ErrorState, LoadingState, NotFound } from "../../../components/status/page-states.tsx";
import {
  WebhookEndpointDocument,
  type EndpointDetailsFragment,
} from "../../../generated/webhook-endpoint.ts";
import { OtherModeHint } from "../../../components/status/other-mode-hint.tsx";
import { BackLink } from "../back-link.tsx";
import { EndpointActions } from "./endpoint.actions.tsx";
import { LastDayPanel } from "./last-day.panel.tsx";
import { EndpointSecretPanel } from "./secret/secret.panel.tsx";
import { EndpointSettingsPanel } from "./endpoint.settings.tsx";
import { EndpointHealthAlert, EndpointStatusBadge } from "./endpoint.status.tsx";
import classes from "../integrations.module.css";
import { Panel } from "../../../components/layout/panel.tsx";
import { pollWhileVisible } from "../polling.ts";
import { RecentDeliveries } from "../deliveries/recent-deliveries.tsx";
import { ReceiverTabs } from "./secret/receiver-tabs.tsx";
import { TestEventResult } from "./test-result.tsx";
import type { TestDelivery } from "./use-test-event.ts";

const route = getRouteApi("/console/integrations/endpoints/$id");

export function EndpointPage() {
  const { id } = route.useParams();
  const { data, error, refetch } = useQuery(WebhookEndpointDocument, {
    variables: { id },
    ...pollWhileVisible(10_000),
  });
  if (data?.webhookEndpoint) return <EndpointView key={id} endpoint={data.webhookEndpoint} />;
  if (data) {
    return (
      <NotFound
        title="Endpoint not found"
        action={<ButtonLink to="/integrations/endpoints">All endpoints</ButtonLink>}
      >
        This endpoint doesn’t exist or was deleted. Deliveries of a deleted endpoint stay in the log.
        <OtherModeHint what="endpoint" />
      </NotFound>
    );
  }
  return (
    <>
      <PageHeader title="Endpoint" back={<BackLink to="/integrations/endpoints">All endpoints</BackLink>} />
      {error ? (
        <ErrorState error={error} onRetry={() => void refetch()} />
      ) : (
        <LoadingState label="Loading the endpoint" />
      )}
    </>
  );
}

function EndpointView({ endpoint }: { endpoint: EndpointDetailsFragment }) {
  const [testDelivery, setTestDelivery] = useState<TestDelivery | null>(null);
  return (
    <>
      <PageHeader
        title={endpoint.url}
        titleAside={
          <>
            <CopyButton value={endpoint.url} label="URL" />
            <EndpointStatusBadge endpoint={endpoint} />
          </>
        }
        description={endpoint.description || undefined}
        back={<BackLink to="/integrations/endpoints">All endpoints</BackLink>}
        actions={<EndpointActions endpoint={endpoint} onTested={setTestDelivery} />}
      />
      <EndpointHealthAlert endpoint={endpoint} />
      <div className={classes.columns}>
        <Stack gap="lg" className={classes.main}>
          {testDelivery && (
            <TestEventResult
              key={testDelivery.id}
              result={testDelivery}
              onClose={() => setTestDelivery(null)}
            />
          )}
          <LastDayPanel endpoint={endpoint} />
          <RecentDeliveries endpointId={endpoint.id} />
          <Panel title="Verify signatures">
            <ReceiverTabs url={endpoint.url} />
          </Panel>
        </Stack>
        <Stack gap="lg">
          <EndpointSettingsPanel endpoint={endpoint} />
          <EndpointSecretPanel endpoint={endpoint} />
        </Stack>
      </div>
    </>
  );
}
