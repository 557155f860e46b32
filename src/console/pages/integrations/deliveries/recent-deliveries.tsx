/** The latest deliveries to an endpoint. */
import { useQuery } from "@apollo/client/react";
import { Group, Stack, Text, Title } from "@mantine/core";
import { useId } from "react";
import { guide } from "../../../app/guide/guide-pages.ts";
import { GuideLink } from "../../../components/layout/guide-link.tsx";
import { TextLink } from "../../../components/layout/links.tsx";
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
    ...pollWhileVisible(30_000),
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
        <Text c="dimmed" fz="sm">
          No deliveries yet. Send a test event to check your receiver.{" "}
          <GuideLink page={guide.nothingArrives} />
        </Text>
      )}
      {deliveries.length > 0 && <DeliveriesTable deliveries={deliveries} isCompact />}
    </Stack>
  );
}
