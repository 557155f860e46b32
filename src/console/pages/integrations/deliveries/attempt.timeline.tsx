/** The attempts of a delivery in order, and what comes next. */
import { Stack, Text, Timeline } from "@mantine/core";
import { IconCheck, IconClock, IconX } from "@tabler/icons-react";
import { Timestamp, useNow } from "../../../components/display/timestamp.tsx";
import type { AttemptDetailsFragment, DeliveryDetailsFragment } from "../../../generated/webhook-delivery.ts";
import { AttemptResponse, AttemptRequest, AttemptSummary } from "./attempt.tsx";
import { isFuture } from "./delivery-status.ts";

type Delivery = DeliveryDetailsFragment;

export function AttemptTimeline({ delivery }: { delivery: Delivery }) {
  const attempts = delivery.attempts ?? [];
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
            <AttemptRequest attempt={attempt} />
            <AttemptResponse attempt={attempt} />
          </Stack>
        </Timeline.Item>
      ))}
      {next !== null && (
        <Timeline.Item bullet={<IconClock size={15} aria-hidden="true" />} title={next} lineVariant="dashed">
          {delivery.nextAttemptAt !== null && <NextAttempt at={delivery.nextAttemptAt} />}
        </Timeline.Item>
      )}
    </Timeline>
  );
}

function NextAttempt({ at }: { at: string }) {
  return (
    <Text c="dimmed" fz="sm">
      {isFuture(at, useNow()) ? (
        <>
          <Timestamp value={at} />, at <Timestamp value={at} display="exact" />
        </>
      ) : (
        "As soon as the endpoint is sent to again"
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

/** Null: it is over, and its last attempt says how. */
function nextStepLabel({ status, isInFlight, nextAttemptAt, attemptCount }: Delivery): string | null {
  if (isInFlight) return "Being sent now";
  if (nextAttemptAt !== null) return `Attempt ${attemptCount + 1} is to come`;
  if (status === "PENDING") return "It waits to be sent";
  if (status === "DISCARDED") return "Discarded: nobody wanted it any more, or it was sent again";
  return status === "DEAD" ? "Given up: it can be sent again" : null;
}
