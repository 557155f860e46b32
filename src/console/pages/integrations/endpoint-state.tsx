/** How an endpoint fares: a badge, a note beside it, and the whole story. */
import { Alert, Text } from "@mantine/core";
import { IconAlertTriangle, IconPlayerPause } from "@tabler/icons-react";
import { StatusBadge } from "../../components/status-badge.tsx";
import { Timestamp, useNow } from "../../components/timestamp.tsx";
import type { EndpointHealthFragment } from "../../generated/webhook-endpoints.ts";
import { healthOf } from "./endpoint-health.ts";
import type { Tone } from "../../components/tone.ts";

interface EndpointProps {
  endpoint: EndpointHealthFragment;
}

export function EndpointBadge({ endpoint }: EndpointProps) {
  const { label, tone } = healthOf(endpoint, useNow());
  return <StatusBadge label={label} tone={tone} />;
}

/** Since when, or until when, in a few words. */
export function HealthNote({ endpoint }: EndpointProps) {
  const { since, until } = healthOf(endpoint, useNow());
  if (since === null && until === null) return null;
  return (
    <Text c="dimmed" fz="xs">
      {since !== null ? (
        <Timestamp value={since} />
      ) : (
        until !== null && (
          <>
            again <Timestamp value={until} />
          </>
        )
      )}
    </Text>
  );
}

const COLORS: Partial<Record<Tone, string>> = { danger: "red", attention: "amber", muted: "gray" };

/** What is the matter, and what comes next; nothing where all is well. */
export function EndpointAlert({ endpoint }: EndpointProps) {
  const { label, tone, sentence, since, until, isTrouble } = healthOf(endpoint, useNow());
  if (sentence === null) return null;
  const Picture = isTrouble ? IconAlertTriangle : IconPlayerPause;
  return (
    <Alert color={COLORS[tone] ?? "gray"} icon={<Picture aria-hidden="true" />} title={label} mb="lg">
      <Text fz="sm">{sentence}</Text>
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
        {waitingWords(endpoint.waiting)}
      </Text>
    </Alert>
  );
}

export function waitingWords(waiting: number): string {
  if (waiting === 0) return "No event waits.";
  return waiting === 1 ? "1 event waits." : `${waiting.toLocaleString()} events wait.`;
}
