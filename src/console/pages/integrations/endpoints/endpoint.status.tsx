/** The health of an endpoint as a badge, a note and an alert. */
import { Text } from "@mantine/core";
import { IconAlertTriangle, IconPlayerPause } from "@tabler/icons-react";
import { guide } from "../../../app/guide/guide-pages.ts";
import { StatusBadge } from "../../../components/status/status-badge.tsx";
import { Timestamp, useNow } from "../../../components/display/timestamp.tsx";
import type { EndpointHealthFragment } from "../../../generated/webhook-endpoints.ts";
import { describeHealth } from "./endpoint.health.ts";
import { RetryNowButton } from "./retry-now.button.tsx";
import type { Tone } from "../../../components/status/tone.ts";
import { Alert } from "../../../components/status/alert.tsx";

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
export function EndpointHealthAlert({ endpoint }: EndpointProps) {
  const { label, tone, message, since, until, needsAction } = describeHealth(endpoint, useNow());
  if (message === null) return null;
  const Picture = needsAction ? IconAlertTriangle : IconPlayerPause;
  return (
    <Alert
      color={ALERT_COLORS[tone] ?? "gray"}
      icon={<Picture aria-hidden="true" />}
      title={label}
      mb="lg"
      guide={guide.troubleshooting}
    >
      <Text fz="sm">{message}</Text>
      <Text fz="sm" mt={4}>
        {since !== null && (
          <>
            Since <Timestamp value={since} display="exact" />.{" "}
          </>
        )}
        {until !== null && (
          <>
            Next attempt <Timestamp value={until} />.{" "}
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
  return pending === 1 ? "1 event is pending." : `${pending.toLocaleString()} events are pending.`;
}
