/** What is known of a delivery. */
import { Code, Text } from "@mantine/core";
import { CopyButton } from "../../components/copy-button.tsx";
import { FactList } from "../../components/fact-list.tsx";
import { TextLink } from "../../components/links.tsx";
import { Timestamp, useNow } from "../../components/timestamp.tsx";
import type { DeliveryDetailsFragment } from "../../generated/webhook-delivery.ts";
import classes from "./integrations.module.css";
import { isAhead } from "./outcomes.ts";

type Delivery = DeliveryDetailsFragment;

const ORIGINS = { EVENT: "The event happened", REPLAY: "It was sent again", TEST: "A test" } as const;

export function DeliveryFacts({ delivery }: { delivery: Delivery }) {
  const nowMs = useNow();
  const { markingNumber, nextAttemptAt, finishedAt } = delivery;
  return (
    <FactList
      facts={[
        { label: "Endpoint", value: <EndpointLink delivery={delivery} /> },
        ...(markingNumber === null
          ? []
          : [{ label: "Job", value: <JobLink markingNumber={markingNumber} /> }]),
        { label: "Why", value: ORIGINS[delivery.origin] },
        { label: "Created", value: <Timestamp value={delivery.createdAt} display="exact" /> },
        ...(isAhead(nextAttemptAt, nowMs)
          ? [{ label: "Next attempt", value: <Timestamp value={nextAttemptAt} /> }]
          : []),
        ...(finishedAt === null
          ? []
          : [{ label: "Over", value: <Timestamp value={finishedAt} display="exact" /> }]),
        { label: "webhook-id", value: <Id value={delivery.eventId} label="webhook-id" /> },
        { label: "Delivery", value: <Id value={delivery.id} label="delivery's id" /> },
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
    <TextLink to="/integrations/endpoints/$id" params={{ id: endpoint.id }}>
      {endpoint.url}
    </TextLink>
  );
}

function JobLink({ markingNumber }: { markingNumber: string }) {
  return (
    <TextLink to="/jobs/$markingNumber" params={{ markingNumber }}>
      {markingNumber}
    </TextLink>
  );
}

function Id({ value, label }: { value: string; label: string }) {
  return (
    <Text component="span" fz="sm">
      <Code className={classes.quietCode}>{value}</Code> <CopyButton value={value} label={label} />
    </Text>
  );
}
