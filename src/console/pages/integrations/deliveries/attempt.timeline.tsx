/** The attempts of a delivery in order, and the next step. */
import { Stack, Text, Timeline } from "@mantine/core";
import { IconCheck, IconClock, IconX } from "@tabler/icons-react";
import { guide } from "../../../app/guide/guide-pages.ts";
import { GuideLink } from "../../../components/layout/guide-link.tsx";
import { useNow } from "../../../app/clock.ts";
import { Timestamp } from "../../../components/display/timestamp.tsx";
import type { AttemptDetailsFragment, DeliveryDetailsFragment } from "../../../generated/webhook-delivery.ts";
import { AttemptResponse, AttemptRequest, AttemptSummary } from "./attempt.tsx";
import { isFuture } from "./delivery-status.ts";

type Delivery = DeliveryDetailsFragment;

export function AttemptTimeline({ delivery }: { delivery: Delivery }) {
  const attempts = delivery.attempts ?? [];
  const latest = attempts.at(-1);
  const next = nextStepLabel(delivery);
  return (
    <Timeline bulletSize={26} lineWidth={2} active={attempts.length - 1}>
      {attempts.map((attempt) => (
        <Timeline.Item
          key={attempt.id}
          bullet={attemptBullet(attempt)}
          color={attempt.outcome === "delivered" ? "spruce" : "red"}
          title={`Attempt ${attempt.number}`}
        >
          <Stack gap="xs">
            <Text c="dimmed" fz="sm">
              <Timestamp value={attempt.startedAt} display="precise" />
            </Text>
            <AttemptSummary attempt={attempt} />
            {attempt === latest && attempt.outcome !== "delivered" && <GuideLink page={guide.outcomes} />}
            <AttemptRequest attempt={attempt} />
            <AttemptResponse attempt={attempt} />
          </Stack>
        </Timeline.Item>
      ))}
      {next !== null && (
        <Timeline.Item bullet={<IconClock size={15} aria-hidden="true" />} title={next} lineVariant="dashed">
          {delivery.nextAttemptAt !== null && <NextAttempt time={delivery.nextAttemptAt} />}
        </Timeline.Item>
      )}
    </Timeline>
  );
}

function NextAttempt({ time }: { time: string }) {
  return (
    <Text c="dimmed" fz="sm">
      {isFuture(time, useNow()) ? (
        <>
          <Timestamp value={time} />, at <Timestamp value={time} display="exact" />
        </>
      ) : (
        "As soon as the endpoint accepts deliveries again"
      )}
    </Text>
  );
}

function attemptBullet({ outcome }: AttemptDetailsFragment) {
  return outcome === "delivered" ? (
    <IconCheck size={15} aria-hidden="true" />
  ) : (
    <IconX size={15} aria-hidden="true" />
  );
}

/** Null if the delivery has ended and its last attempt shows the result. */
function nextStepLabel({ status, isInFlight, nextAttemptAt, attemptCount }: Delivery): string | null {
  if (isInFlight) return "Sending now";
  if (nextAttemptAt !== null) return `Attempt ${attemptCount + 1} is scheduled`;
  if (status === "PENDING") return "Not sent yet";
  if (status === "DISCARDED") return "Discarded: no longer needed, or replaced by a replay";
  return status === "FAILED" ? "Failed after the last attempt. You can replay it." : null;
}
