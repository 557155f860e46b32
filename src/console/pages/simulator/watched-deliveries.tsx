/** The newest webhook deliveries of a job's events, read again every two seconds. */
import { useQuery } from "@apollo/client/react";
import { IconWebhook } from "@tabler/icons-react";
import { guide } from "../../app/guide/guide-pages.ts";
import { ButtonLink, TextLink } from "../../components/layout/links.tsx";
import { Panel } from "../../components/layout/panel.tsx";
import { EmptyNote } from "../../components/status/empty-note.tsx";
import { EmptyState, ErrorState, LoadingState } from "../../components/status/page-states.tsx";
import { WebhookDeliveriesDocument } from "../../generated/webhook-deliveries.ts";
import { WebhookEndpointNamesDocument } from "../../generated/webhook-endpoints.ts";
import { DeliveriesTable } from "../integrations/deliveries/deliveries.table.tsx";
import { pollWhileVisible } from "../integrations/polling.ts";

const SHOWN_COUNT = 20;
const POLL_INTERVAL_MS = 2_000;

interface WatchedDeliveriesProps {
  markingNumber: string;
  isPaused: boolean;
}

export function WatchedDeliveries({ markingNumber, isPaused }: WatchedDeliveriesProps) {
  const { data, error, refetch } = useQuery(WebhookDeliveriesDocument, {
    variables: { markingNumber, first: SHOWN_COUNT },
    // Not cached: it would overwrite the longer list of the delivery log.
    fetchPolicy: "no-cache",
    ...pollWhileVisible(isPaused ? 0 : POLL_INTERVAL_MS),
  });
  const deliveries = data?.webhookDeliveries?.edges.map(({ node }) => node) ?? [];
  return (
    <Panel
      title="Webhook deliveries"
      actions={
        deliveries.length > 0 && (
          <TextLink to="/integrations/deliveries" search={{ marking_number: markingNumber }} fz="sm">
            View all deliveries
          </TextLink>
        )
      }
    >
      {error && !data && <ErrorState error={error} onRetry={() => void refetch()} />}
      {!error && !data && <LoadingState rows={4} label="Loading deliveries" />}
      {data && deliveries.length === 0 && <NoDeliveries />}
      {deliveries.length > 0 && <DeliveriesTable deliveries={deliveries} of="job" />}
    </Panel>
  );
}

function NoDeliveries() {
  const { data } = useQuery(WebhookEndpointNamesDocument);
  if (data?.webhookEndpoints?.length === 0)
    return (
      <EmptyState
        icon={IconWebhook}
        title="No test endpoint yet"
        action={<ButtonLink to="/integrations/endpoints">Create an endpoint</ButtonLink>}
        guide={guide.createEndpoint}
      >
        Live endpoints receive no test events. Create an endpoint in test mode, and the deliveries of this
        job’s next changes appear here.
      </EmptyState>
    );
  return (
    <EmptyNote guide={guide.nothingArrives}>
      No deliveries of this job yet. An endpoint receives the changes made after it was created.
    </EmptyNote>
  );
}
