/** One endpoint: how it fares, what was sent to it, and everything that can be done about it. */
import { useQuery } from "@apollo/client/react";
import { Stack } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { CopyButton } from "../../components/copy-button.tsx";
import { ButtonLink } from "../../components/links.tsx";
import { PageHeader } from "../../components/page-header.tsx";
import { ErrorState, LoadingState, NotFound } from "../../components/states.tsx";
import { WebhookEndpointDocument, type EndpointDetailsFragment } from "../../generated/webhook-endpoint.ts";
import { BackLink } from "./back-link.tsx";
import { EndpointActions } from "./endpoint-actions.tsx";
import { EndpointSecret } from "./endpoint-secret.tsx";
import { EndpointSettings } from "./endpoint-settings.tsx";
import { EndpointAlert, EndpointBadge } from "./endpoint-state.tsx";
import classes from "./integrations.module.css";
import { Panel } from "./panel.tsx";
import { whileVisible } from "./polling.ts";
import { RecentDeliveries } from "./recent-deliveries.tsx";
import { ReceiverTabs } from "./receiver-tabs.tsx";
import { TestAnswer } from "./test-answer.tsx";
import type { TestResult } from "./use-test-event.ts";

const route = getRouteApi("/console/integrations/endpoints/$id");

export function EndpointPage() {
  const { id } = route.useParams();
  const { data, error, refetch } = useQuery(WebhookEndpointDocument, {
    variables: { id },
    ...whileVisible(30_000),
  });
  if (data?.webhookEndpoint) return <EndpointView key={id} endpoint={data.webhookEndpoint} />;
  if (data) {
    return (
      <NotFound action={<ButtonLink to="/integrations/endpoints">All endpoints</ButtonLink>}>
        There is no such endpoint. It may be deleted; its deliveries stay in the log.
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
  const [test, setTest] = useState<TestResult | null>(null);
  return (
    <>
      <PageHeader
        title={endpoint.url}
        beside={
          <>
            <CopyButton value={endpoint.url} label="URL" />
            <EndpointBadge endpoint={endpoint} />
          </>
        }
        description={endpoint.description || undefined}
        back={<BackLink to="/integrations/endpoints">All endpoints</BackLink>}
        actions={<EndpointActions endpoint={endpoint} onTested={setTest} />}
      />
      <EndpointAlert endpoint={endpoint} />
      <div className={classes.columns}>
        <Stack gap="lg" className={classes.main}>
          {test && <TestAnswer key={test.id} result={test} onClose={() => setTest(null)} />}
          <RecentDeliveries endpointId={endpoint.id} />
          <Panel title="Verify what arrives">
            <ReceiverTabs url={endpoint.url} />
          </Panel>
        </Stack>
        <Stack gap="lg">
          <EndpointSettings endpoint={endpoint} />
          <EndpointSecret endpoint={endpoint} />
        </Stack>
      </div>
    </>
  );
}
