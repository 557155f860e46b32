/** The settings of an endpoint. */
import { formatNumber } from "../../../app/formats.ts";
import { Badge, Button, Code, Group, Stack, Text } from "@mantine/core";
import { useSession } from "../../../app/session/session.ts";
import { useDialog } from "../../../app/interaction/use-dialog.ts";
import { DescriptionList } from "../../../components/display/description-list.tsx";
import { Timestamp } from "../../../components/display/timestamp.tsx";
import type { EndpointDetailsFragment } from "../../../generated/webhook-endpoint.ts";
import { EditEndpointDialog } from "./form/edit.dialog.tsx";
import { eventTypeCode } from "../event-types.ts";
import { TestBadge } from "../listed-mode.control.tsx";
import classes from "../integrations.module.css";
import { Panel } from "../../../components/layout/panel.tsx";

type Endpoint = EndpointDetailsFragment;

export function EndpointSettingsPanel({ endpoint }: { endpoint: Endpoint }) {
  const { organization } = useSession();
  const editing = useDialog<Endpoint>();
  const owner = {
    label: "Organisation",
    value: (
      <>
        {endpoint.organization.name} <TestBadge mode={endpoint.mode} />
      </>
    ),
  };
  return (
    <Panel
      title="Settings"
      actions={
        <Button variant="default" size="xs" onClick={() => editing.open(endpoint)}>
          Edit
        </Button>
      }
    >
      <DescriptionList
        items={[
          ...(organization === null ? [owner] : []),
          { label: "Events", value: <EventTypes types={endpoint.eventTypes} /> },
          { label: "Custom headers", value: <Headers headers={endpoint.headers} /> },
          {
            label: "Limits",
            value: `${formatNumber(endpoint.maxInFlight)} requests in flight, ${formatNumber(endpoint.perSecond)} per second`,
          },
          { label: "Pending", value: formatNumber(endpoint.pending) },
          { label: "Created", value: <Timestamp value={endpoint.createdAt} display="exact" /> },
          { label: "Updated", value: <Timestamp value={endpoint.updatedAt} /> },
          { label: "ID", value: <Code className={classes.quietCode}>{endpoint.id}</Code> },
        ]}
      />
      <EditEndpointDialog dialog={editing} />
    </Panel>
  );
}

function EventTypes({ types }: { types: Endpoint["eventTypes"] }) {
  if (types === null) return "All";
  return (
    <Group gap={4}>
      {types.map((type) => (
        <Badge key={type} color="gray" className={classes.code}>
          {eventTypeCode(type)}
        </Badge>
      ))}
    </Group>
  );
}

function Headers({ headers }: { headers: Endpoint["headers"] }) {
  if (headers.length === 0)
    return (
      <Text c="dimmed" fz="sm">
        None
      </Text>
    );
  return (
    <Stack gap={2}>
      {headers.map(({ name, value }) => (
        <span key={name}>
          {name}: <span className={classes.masked}>{value}</span>
        </span>
      ))}
    </Stack>
  );
}
