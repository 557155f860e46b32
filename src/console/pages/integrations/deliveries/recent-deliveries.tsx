/** The latest deliveries to an endpoint. */
import { useQuery } from "@apollo/client/react";
import { Group, Stack, Title } from "@mantine/core";
import { useId } from "react";
import { guide } from "../../../app/guide/guide-pages.ts";
import { TextLink } from "../../../components/layout/links.tsx";
import { EmptyNote } from "../../../components/status/empty-note.tsx";
import { ErrorState, LoadingState } from "../../../components/status/page-states.tsx";
import { WebhookDeliveriesDocument } from "../../../generated/webhook-deliveries.ts";
import { DeliveriesTable } from "./deliveries.table.tsx";
import { pollWhileVisible } from "../polling.ts";

const RECENT_COUNT = 8;

export function RecentDeliveries({ endpointId }: { endpointId: string }) {
  const heading = useId();
  const { data, error, refetch } = useQuery(WebhookDeliveriesDocument, {
    variables: { endpointId, first: RECENT_COUNT },
    // Not cached: it would overwrite the longer list of the delivery log.
    fetchPolicy: "no-cache",
    ...pollWhileVisible(10_000),
  });
  const deliveries = data?.webhookDeliveries?.edges.map(({ node }) => node) ?? [];
  return (
    <Stack component="section" gap="sm" aria-labelledby={heading}>
      <Group justify="space-between">
        <Title order={2} id={heading}>
          Recent deliveries
        </Title>
        <TextLink to="/integrations/deliveries" search={{ endpoint: endpointId }} fz="sm">
          View all deliveries
        </TextLink>
      </Group>
      {error && !data && <ErrorState error={error} onRetry={() => void refetch()} />}
      {!error && !data && <LoadingState rows={4} label="Loading deliveries" />}
      {data && deliveries.length === 0 && (
        <EmptyNote guide={guide.nothingArrives}>
          No deliveries yet. Send a test event to check your receiver.
        </EmptyNote>
      )}
      {deliveries.length > 0 && <DeliveriesTable deliveries={deliveries} of="endpoint" />}
    </Stack>
  );
}
