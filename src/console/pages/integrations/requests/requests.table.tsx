/** A table of requests. Clicking one opens its details. */
import { Badge, Group, Stack, Text, UnstyledButton } from "@mantine/core";
import { DataTable, type Column } from "../../../components/tables/data-table.tsx";
import { StatusBadge } from "../../../components/status/status-badge.tsx";
import type { Tone } from "../../../components/status/tone.ts";
import { Timestamp } from "../../../components/display/timestamp.tsx";
import type { RequestRowFragment } from "../../../generated/request-log.ts";
import classes from "../integrations.module.css";
import { formatDuration } from "../formatting.ts";
import { errorLabel } from "./error-hints.ts";

type Request = RequestRowFragment;

interface RequestsTableProps {
  requests: readonly Request[];
  isStale: boolean;
  onOpen: (requestId: string) => void;
}

const otherColumns: readonly Column<Request>[] = [
  { id: "status", header: "Status", cell: (request) => <RequestStatus request={request} /> },
  { id: "key", header: "Key", cell: (request) => <RequestKey request={request} /> },
  { id: "duration", header: "Duration", align: "end", cell: ({ durationMs }) => formatDuration(durationMs) },
  { id: "when", header: "Time", align: "end", cell: ({ at }) => <Timestamp value={at} /> },
];

export function RequestsTable({ requests, isStale, onOpen }: RequestsTableProps) {
  const requestColumn: Column<Request> = {
    id: "what",
    header: "Request",
    isTitle: true,
    cell: ({ requestId, method, path }) => (
      <UnstyledButton className={classes.rowButton} onClick={() => onOpen(requestId)}>
        <span className={classes.method}>{method}</span> {path}
      </UnstyledButton>
    ),
  };
  return (
    <DataTable
      caption="Requests"
      columns={[requestColumn, ...otherColumns]}
      rows={requests}
      rowKey={({ requestId }) => requestId}
      isStale={isStale}
    />
  );
}

export function HttpStatus({ status }: { status: number }) {
  return <StatusBadge label={status === 499 ? "499 Closed" : String(status)} tone={httpStatusTone(status)} />;
}

function httpStatusTone(status: number): Tone {
  if (status >= 500) return "danger";
  return status >= 400 ? "attention" : "success";
}

export function RequestKey({ request: { keyName } }: { request: Request }) {
  if (keyName !== null) return <span className={classes.keyName}>{keyName}</span>;
  return (
    <Text component="span" c="dimmed" fz="sm">
      Deleted key
    </Text>
  );
}

function RequestStatus({ request }: { request: Request }) {
  const { status, errorCode, simulated, ignoredParameters } = request;
  return (
    <Stack gap={2} className={classes.state}>
      <Group gap="xs">
        <HttpStatus status={status} />
        {simulated !== null && <Badge color="gray">Simulated</Badge>}
        {ignoredParameters.length > 0 && <Badge color="gray">Ignored parameters</Badge>}
      </Group>
      {errorCode !== null && (
        <Text c="dimmed" fz="xs" className={classes.anywhere}>
          {errorLabel(errorCode)}{" "}
        </Text>
      )}
    </Stack>
  );
}
