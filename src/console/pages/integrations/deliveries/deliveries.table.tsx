/** A table of deliveries. */
import { Stack, Text } from "@mantine/core";
import { useSession } from "../../../app/session/session.ts";
import { DataTable, type Column } from "../../../components/tables/data-table.tsx";
import { TextLink } from "../../../components/layout/links.tsx";
import { StatusBadge } from "../../../components/status/status-badge.tsx";
import { CLOCK_TICK_MS, useNow } from "../../../app/clock.ts";
import { Timestamp } from "../../../components/display/timestamp.tsx";
import type { DeliveryRowFragment } from "../../../generated/webhook-deliveries.ts";
import { eventTypeCode } from "../event-types.ts";
import { formatDuration } from "../formatting.ts";
import { OrganizationCell } from "../listed-mode.control.tsx";
import classes from "../integrations.module.css";
import type { Selection } from "../../../components/tables/use-selection.ts";
import { selectColumn } from "./delivery-selection.tsx";
import { waitReason } from "../endpoints/endpoint.health.ts";
import { isFuture, outcomeLabel, deliveryStatusOf } from "./delivery-status.ts";

type Delivery = DeliveryRowFragment;

const eventColumn: Column<Delivery> = {
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
          replay
        </Text>
      )}
    </Stack>
  ),
};

/** For narrow tables: also shows what the event is about, or where it is sent. */
function withNote(note: (delivery: Delivery) => string | null): Column<Delivery> {
  return {
    ...eventColumn,
    cell: (delivery) => (
      <Stack gap={0}>
        {eventColumn.cell(delivery)}
        {note(delivery) !== null && (
          <Text c="dimmed" fz="xs" className={classes.anywhere}>
            {note(delivery)}
          </Text>
        )}
      </Stack>
    ),
  };
}

const jobColumn: Column<Delivery> = {
  id: "job",
  header: "Marking Number",
  cell: ({ markingNumber }) => <MarkingNumberCell value={markingNumber} />,
};

const endpointColumn: Column<Delivery> = {
  id: "endpoint",
  header: "Endpoint",
  cell: (delivery) => <EndpointCell delivery={delivery} />,
};

const statusColumn: Column<Delivery> = {
  id: "status",
  header: "Status",
  cell: (delivery) => (
    <Stack gap={2} className={classes.state}>
      <StatusBadge {...deliveryStatusOf(delivery)} />
      <OutcomeNote delivery={delivery} />
    </Stack>
  ),
};

const responseColumn: Column<Delivery> = {
  id: "response",
  header: "Response",
  cell: ({ lastAttempt }) =>
    lastAttempt && (
      <Stack gap={0} className={classes.state}>
        {lastAttempt.httpStatus ?? "None"}
        <Text c="dimmed" fz="xs">
          {formatDuration(lastAttempt.durationMs)}
        </Text>
      </Stack>
    ),
};

const createdColumn: Column<Delivery> = {
  id: "when",
  header: "Time",
  align: "end",
  cell: ({ createdAt }) => <Timestamp value={createdAt} />,
};

const COLUMNS = {
  all: [eventColumn, jobColumn, endpointColumn, statusColumn, responseColumn, createdColumn],
  endpoint: [withNote(({ markingNumber }) => markingNumber), statusColumn, responseColumn, createdColumn],
  job: [
    withNote(({ endpoint }) => endpoint?.url ?? "Deleted endpoint"),
    statusColumn,
    responseColumn,
    createdColumn,
  ],
};

interface DeliveriesTableProps {
  deliveries: readonly Delivery[];
  /** For the deliveries of one endpoint or job: fewer columns. */
  of?: "endpoint" | "job";
  isStale?: boolean;
  selection?: Selection;
}

export function DeliveriesTable({ deliveries, of, isStale = false, selection }: DeliveriesTableProps) {
  const columns = COLUMNS[of ?? "all"];
  return (
    <DataTable
      caption="Deliveries"
      columns={selection ? [selectColumn(selection, deliveries), ...columns] : columns}
      rows={deliveries}
      rowKey={({ id }) => id}
      isSelected={({ id }) => selection?.selected.has(id) ?? false}
      isStale={isStale}
    />
  );
}

function MarkingNumberCell({ value }: { value: string | null }) {
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

function EndpointCell({ delivery: { endpoint } }: { delivery: Delivery }) {
  const isForOperator = useSession().organization === null;
  if (endpoint === null)
    return (
      <Text c="dimmed" fz="sm">
        Deleted
      </Text>
    );
  return (
    <>
      <TextLink
        to="/integrations/endpoints/$id"
        params={{ id: endpoint.id }}
        title={endpoint.url}
        className={classes.shortened}
      >
        {endpoint.url.replace(/^https?:\/\//, "")}
      </TextLink>
      {isForOperator && (
        <Text component="div" fz="xs">
          <OrganizationCell organization={endpoint.organization} mode={endpoint.mode} />
        </Text>
      )}
    </>
  );
}

/** Why the last attempt failed, the number of attempts, and when the next one is. */
function OutcomeNote({ delivery }: { delivery: Delivery }) {
  const { outcome, attemptCount, nextAttemptAt } = delivery;
  const nowMs = useNow();
  if (outcome === null) return <WaitNote delivery={delivery} nowMs={nowMs} />;
  if (outcome === "delivered") return null;
  return (
    <Text c="dimmed" fz="xs">
      {outcomeLabel(outcome)}
      {attemptCount > 1 && ` (attempt ${attemptCount})`}
      {isFuture(nextAttemptAt, nowMs) ? (
        <>
          , next attempt <Timestamp value={nextAttemptAt} />
        </>
      ) : (
        // `nowMs` is up to one tick ahead.
        isFuture(nextAttemptAt, nowMs - CLOCK_TICK_MS) && ", next attempt in a few seconds"
      )}
    </Text>
  );
}

/** Why the first attempt has not started. */
function WaitNote({
  delivery: { status, isInFlight, endpoint },
  nowMs,
}: {
  delivery: Delivery;
  nowMs: number;
}) {
  const reason = endpoint && status === "PENDING" && !isInFlight ? waitReason(endpoint, nowMs) : null;
  return (
    reason !== null && (
      <Text c="dimmed" fz="xs">
        {reason}
      </Text>
    )
  );
}
