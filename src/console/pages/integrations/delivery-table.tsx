/** Deliveries in a table. */
import { Stack, Text } from "@mantine/core";
import { DataTable, type Column } from "../../components/data-table.tsx";
import { TextLink } from "../../components/links.tsx";
import { StatusBadge } from "../../components/status-badge.tsx";
import { Timestamp, useNow } from "../../components/timestamp.tsx";
import type { DeliveryRowFragment } from "../../generated/webhook-deliveries.ts";
import { eventTypeCode } from "./event-types.ts";
import classes from "./integrations.module.css";
import { isAhead, outcomeWords, standingOf } from "./outcomes.ts";

type Delivery = DeliveryRowFragment;

const event: Column<Delivery> = {
  id: "event",
  header: "Event",
  isTitle: true,
  cell: ({ id, eventType, origin }) => (
    <Stack gap={0}>
      <TextLink to="/integrations/deliveries/$id" params={{ id }}>
        {eventTypeCode(eventType)}
      </TextLink>
      {origin === "REPLAY" && (
        <Text c="dimmed" fz="xs">
          sent again
        </Text>
      )}
    </Stack>
  ),
};

/** The same with the job below it, for less room. */
const briefEvent: Column<Delivery> = {
  ...event,
  cell: (delivery) => (
    <Stack gap={0}>
      {event.cell(delivery)}
      {delivery.markingNumber !== null && (
        <Text c="dimmed" fz="xs" className={classes.anywhere}>
          {delivery.markingNumber}
        </Text>
      )}
    </Stack>
  ),
};

const job: Column<Delivery> = {
  id: "job",
  header: "Marking Number",
  cell: ({ markingNumber }) => <MarkingNumber value={markingNumber} />,
};

const endpoint: Column<Delivery> = {
  id: "endpoint",
  header: "Endpoint",
  cell: (delivery) => <EndpointOf delivery={delivery} />,
};

const status: Column<Delivery> = {
  id: "status",
  header: "Status",
  cell: (delivery) => (
    <Stack gap={2} className={classes.state}>
      <StatusBadge {...standingOf(delivery)} />
      <OutcomeNote delivery={delivery} />
    </Stack>
  ),
};

const when: Column<Delivery> = {
  id: "when",
  header: "When",
  align: "end",
  cell: ({ createdAt }) => <Timestamp value={createdAt} />,
};

interface DeliveryTableProps {
  deliveries: readonly Delivery[];
  /** Of one endpoint, in less room. */
  isBrief?: boolean;
  isStale?: boolean;
}

export function DeliveryTable({ deliveries, isBrief = false, isStale = false }: DeliveryTableProps) {
  return (
    <DataTable
      caption="Deliveries"
      columns={isBrief ? [briefEvent, status, when] : [event, job, endpoint, status, when]}
      rows={deliveries}
      rowKey={({ id }) => id}
      isStale={isStale}
    />
  );
}

function MarkingNumber({ value }: { value: string | null }) {
  if (value === null)
    return (
      <Text c="dimmed" fz="sm">
        None
      </Text>
    );
  return (
    <TextLink to="/jobs/$markingNumber" params={{ markingNumber: value }} className={classes.anywhere}>
      {value}
    </TextLink>
  );
}

function EndpointOf({ delivery: { endpoint: to } }: { delivery: Delivery }) {
  if (to === null)
    return (
      <Text c="dimmed" fz="sm">
        Deleted
      </Text>
    );
  return (
    <TextLink
      to="/integrations/endpoints/$id"
      params={{ id: to.id }}
      title={to.url}
      className={classes.shortened}
    >
      {to.url.replace(/^https?:\/\//, "")}
    </TextLink>
  );
}

/** Why it did not arrive, how often it was tried, and when it is tried again. */
function OutcomeNote({ delivery: { outcome, attemptCount, nextAttemptAt } }: { delivery: Delivery }) {
  const nowMs = useNow();
  if (outcome === null || outcome === "delivered") return null;
  return (
    <Text c="dimmed" fz="xs">
      {outcomeWords(outcome)}
      {attemptCount > 1 && ` at attempt ${attemptCount}`}
      {isAhead(nextAttemptAt, nowMs) && (
        <>
          , again <Timestamp value={nextAttemptAt} />
        </>
      )}
    </Text>
  );
}
