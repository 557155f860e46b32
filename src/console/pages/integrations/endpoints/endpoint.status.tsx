/** The health of an endpoint as a badge, a note and an alert. */
import { formatNumber } from "../../../app/formats.ts";
import { Text, Button } from "@mantine/core";
import { IconAlertTriangle, IconPlayerPause, IconRefresh } from "@tabler/icons-react";
import { guide } from "../../../app/guide/guide-pages.ts";
import { StatusBadge } from "../../../components/status/status-badge.tsx";
import { useNow } from "../../../app/clock.ts";
import { Timestamp } from "../../../components/display/timestamp.tsx";
import type { EndpointHealthFragment } from "../../../generated/webhook-endpoints.ts";
import { describeHealth } from "./endpoint.health.ts";
import type { Tone } from "../../../components/status/tone.ts";
import { Alert } from "../../../components/status/alert.tsx";
import { useMutation } from "@apollo/client/react";
import { payloadOrThrow } from "../../../app/api/user-errors.ts";
import { notify, notifyError } from "../../../app/interaction/notify.tsx";
import {
  RetryWebhookEndpointDocument,
  type EndpointDetailsFragment,
} from "../../../generated/webhook-endpoint.ts";
import { outcomeLabel } from "../deliveries/delivery-status.ts";

interface EndpointProps {
  endpoint: EndpointHealthFragment;
}

export function EndpointStatusBadge({ endpoint }: EndpointProps) {
  const { label, tone } = describeHealth(endpoint, useNow());
  return <StatusBadge label={label} tone={tone} />;
}

/** When the state began or ends. */
export function EndpointHealthNote({ endpoint }: EndpointProps) {
  const { since, until } = describeHealth(endpoint, useNow());
  if (since === null && until === null) return null;
  return (
    <Text c="dimmed" fz="xs">
      {since !== null ? (
        <Timestamp value={since} />
      ) : (
        until !== null && (
          <>
            until <Timestamp value={until} />
          </>
        )
      )}
    </Text>
  );
}

const ALERT_COLORS: Partial<Record<Tone, string>> = { danger: "red", attention: "amber", muted: "gray" };

/** Explains the problem and what happens next; renders nothing for a healthy endpoint. */
export function EndpointHealthAlert({ endpoint }: { endpoint: EndpointDetailsFragment }) {
  const { label, tone, message, since, until, needsAction } = describeHealth(endpoint, useNow());
  if (message === null) return null;
  const { lastError, nextAttemptAt } = endpoint.health24h ?? {};
  const Picture = needsAction ? IconAlertTriangle : IconPlayerPause;
  return (
    <Alert
      color={ALERT_COLORS[tone] ?? "gray"}
      icon={<Picture aria-hidden="true" />}
      title={label}
      mb="lg"
      guide={guide.troubleshooting}
    >
      <Text fz="sm">
        {message}
        {lastError && ` Last error: ${outcomeLabel(lastError.outcome)}.`}
      </Text>
      <Text fz="sm" mt={4}>
        {since !== null && (
          <>
            Since <Timestamp value={since} display="exact" />.{" "}
          </>
        )}
        {until !== null && (
          <>
            Next attempt <Timestamp value={nextAttemptAt ?? until} />.{" "}
          </>
        )}
        {pendingEventsText(endpoint.pending)}
      </Text>
      {endpoint.status === "ACTIVE" && endpoint.problem === null && (
        <RetryNowButton endpointId={endpoint.id} />
      )}
    </Alert>
  );
}

export function pendingEventsText(pending: number): string {
  if (pending === 0) return "No events are pending.";
  return pending === 1 ? "1 event is pending." : `${formatNumber(pending)} events are pending.`;
}

/** Retries the waiting deliveries of an endpoint. */
function RetryNowButton({ endpointId: id }: { endpointId: string }) {
  const [retry, { loading }] = useMutation(RetryWebhookEndpointDocument, {
    refetchQueries: ["WebhookDeliveries"],
  });
  const run = async (): Promise<void> => {
    try {
      const { data } = await retry({ variables: { id } });
      payloadOrThrow(data?.retryWebhookEndpoint);
      notify("Retrying now.");
    } catch (error) {
      notifyError(error);
    }
  };
  return (
    <Button
      variant="default"
      size="xs"
      mt="xs"
      mb={4}
      leftSection={<IconRefresh size={14} aria-hidden="true" />}
      loading={loading}
      onClick={() => void run()}
    >
      Retry now
    </Button>
  );
}
