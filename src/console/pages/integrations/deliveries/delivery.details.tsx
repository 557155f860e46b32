/** The details of a delivery. */
import { Code, Text } from "@mantine/core";
import { CopyButton } from "../../../components/display/copy-button.tsx";
import { DescriptionList } from "../../../components/display/description-list.tsx";
import { TextLink } from "../../../components/layout/links.tsx";
import { useNow } from "../../../app/clock.ts";
import { Timestamp } from "../../../components/display/timestamp.tsx";
import type { DeliveryDetailsFragment } from "../../../generated/webhook-delivery.ts";
import { TestBadge } from "../listed-mode.control.tsx";
import classes from "../integrations.module.css";
import { isFuture } from "./delivery-status.ts";

type Delivery = DeliveryDetailsFragment;

const ORIGIN_LABELS = { EVENT: "Event", REPLAY: "Replay", TEST: "Test event" } as const;

export function DeliveryDetails({ delivery }: { delivery: Delivery }) {
  const nowMs = useNow();
  const { markingNumber, nextAttemptAt, finishedAt } = delivery;
  return (
    <DescriptionList
      items={[
        { label: "Endpoint", value: <EndpointLink delivery={delivery} /> },
        ...(markingNumber === null
          ? []
          : [{ label: "Job", value: <JobLink markingNumber={markingNumber} /> }]),
        { label: "Origin", value: ORIGIN_LABELS[delivery.origin] },
        { label: "Created", value: <Timestamp value={delivery.createdAt} display="exact" /> },
        ...(isFuture(nextAttemptAt, nowMs)
          ? [{ label: "Next attempt", value: <Timestamp value={nextAttemptAt} /> }]
          : []),
        ...(finishedAt === null
          ? []
          : [{ label: "Finished", value: <Timestamp value={finishedAt} display="exact" /> }]),
        { label: "webhook-id", value: <CopyableId value={delivery.eventId} label="webhook-id" /> },
        { label: "Delivery ID", value: <CopyableId value={delivery.id} label="delivery ID" /> },
      ]}
    />
  );
}

function EndpointLink({ delivery: { endpoint, endpointId } }: { delivery: Delivery }) {
  if (endpoint === null) {
    return (
      <>
        Deleted <Code className={classes.quietCode}>{endpointId}</Code>
      </>
    );
  }
  return (
    <>
      <TextLink to="/integrations/endpoints/$id" params={{ id: endpoint.id }}>
        {endpoint.url}
      </TextLink>{" "}
      <TestBadge mode={endpoint.mode} />
    </>
  );
}

function JobLink({ markingNumber }: { markingNumber: string }) {
  return (
    <TextLink to="/jobs/$markingNumber" params={{ markingNumber }}>
      {markingNumber}
    </TextLink>
  );
}

function CopyableId({ value, label }: { value: string; label: string }) {
  return (
    <Text component="span" fz="sm">
      <Code className={classes.quietCode}>{value}</Code> <CopyButton value={value} label={label} />
    </Text>
  );
}
