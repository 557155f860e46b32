/** The requests to an endpoint in the last 24 hours: how many succeeded, how long they took, and the last error. */
import { formatNumber } from "../../../app/formats.ts";
import { Stack, Text } from "@mantine/core";
import { CodeBlock } from "../../../components/display/code-block.tsx";
import { DescriptionList } from "../../../components/display/description-list.tsx";
import { useNow } from "../../../app/clock.ts";
import { Timestamp } from "../../../components/display/timestamp.tsx";
import { TextLink } from "../../../components/layout/links.tsx";
import { Panel } from "../../../components/layout/panel.tsx";
import type { EndpointDetailsFragment } from "../../../generated/webhook-endpoint.ts";
import { isFuture, outcomeLabel } from "../deliveries/delivery-status.ts";
import { formatDuration, truncate } from "../formatting.ts";
import { formatRate } from "./endpoint.health.ts";

type LastDay = NonNullable<EndpointDetailsFragment["health24h"]>;

/** Characters of the response body. The delivery has up to 4 KiB of it. */
const BODY_LENGTH = 240;

export function LastDayPanel({ endpoint }: { endpoint: EndpointDetailsFragment }) {
  const { id, health24h: health } = endpoint;
  if (health === null) return null;
  const { attempts, isSampled, p50Ms, p95Ms, nextAttemptAt } = health;
  return (
    <Panel
      title="Last 24 hours"
      actions={
        <TextLink to="/integrations/deliveries" search={{ endpoint: id, status: "retrying" }} fz="sm">
          View retrying deliveries
        </TextLink>
      }
    >
      <DescriptionList
        items={[
          { label: "Success rate", value: formatRate(health.successRate) ?? "No requests" },
          {
            label: "Requests",
            value: formatNumber(attempts) + (isSampled ? " measured, a sample of each hour" : ""),
          },
          {
            label: "Response time",
            value: p50Ms === null || p95Ms === null ? null : responseTime(p50Ms, p95Ms),
          },
          {
            label: "Next attempt",
            value: nextAttemptAt === null ? null : <NextAttempt time={nextAttemptAt} />,
          },
        ]}
      />
      <LastError error={health.lastError} />
    </Panel>
  );
}

const responseTime = (p50Ms: number, p95Ms: number): string =>
  `${formatDuration(p50Ms)} median, ${formatDuration(p95Ms)} at the 95th percentile`;

function NextAttempt({ time }: { time: string }) {
  return isFuture(time, useNow()) ? <Timestamp value={time} /> : "As soon as possible";
}

function LastError({ error }: { error: LastDay["lastError"] }) {
  if (error === null) return null;
  const body = truncate(error.responseBody ?? "", BODY_LENGTH);
  return (
    <Stack gap={6} mt="md">
      <Text fz="sm" fw={600}>
        Last error: {outcomeLabel(error.outcome)}, <Timestamp value={error.startedAt} />
      </Text>
      {error.error !== null && <Text fz="sm">{error.error}</Text>}
      {body.shown !== "" && (
        <CodeBlock
          code={body.isCut ? `${body.shown}…` : body.shown}
          label="response body of the last error"
          wrap
        />
      )}
    </Stack>
  );
}
