/** A table of endpoints with their health. */
import { formatNumber } from "../../../app/formats.ts";
import { Stack, Text } from "@mantine/core";
import { DataTable, type Column } from "../../../components/tables/data-table.tsx";
import { TextLink } from "../../../components/layout/links.tsx";
import type { EndpointListItemFragment } from "../../../generated/webhook-endpoints.ts";
import { EndpointStatusBadge, EndpointHealthNote } from "./endpoint.status.tsx";
import { formatRate } from "./endpoint.health.ts";
import { eventTypeCode } from "../event-types.ts";
import { OrganizationCell } from "../listed-mode.control.tsx";
import classes from "../integrations.module.css";

type Endpoint = EndpointListItemFragment;

const columns: readonly Column<Endpoint>[] = [
  {
    id: "url",
    header: "Endpoint",
    isTitle: true,
    cell: ({ id, url, description }) => (
      <Stack gap={2}>
        <TextLink to="/integrations/endpoints/$id" params={{ id }} className={classes.anywhere}>
          {url}
        </TextLink>
        {description !== "" && (
          <Text c="dimmed" fz="sm" lineClamp={2}>
            {description}
          </Text>
        )}
      </Stack>
    ),
  },
  {
    id: "health",
    header: "Status",
    cell: (endpoint) => (
      <Stack gap={4} className={classes.state}>
        <EndpointStatusBadge endpoint={endpoint} />
        <EndpointHealthNote endpoint={endpoint} />
      </Stack>
    ),
  },
  { id: "events", header: "Events", cell: ({ eventTypes }) => <EventTypes types={eventTypes} /> },
  {
    id: "rate",
    header: "Success, 24 h",
    align: "end",
    cell: ({ health24h }) => <SuccessRate health={health24h} />,
  },
  { id: "pending", header: "Pending", align: "end", cell: ({ pending }) => formatNumber(pending) },
];

const organizationColumn: Column<Endpoint> = {
  id: "owner",
  header: "Organisation",
  cell: ({ organization, mode }) => <OrganizationCell organization={organization} mode={mode} />,
};

interface EndpointsTableProps {
  endpoints: readonly Endpoint[];
  /** For operators, who see the endpoints of all organisations. */
  showOrganization: boolean;
}

export function EndpointsTable({ endpoints, showOrganization }: EndpointsTableProps) {
  return (
    <DataTable
      caption="Webhook endpoints"
      columns={showOrganization ? [...columns, organizationColumn] : columns}
      rows={endpoints}
      rowKey={({ id }) => id}
    />
  );
}

function SuccessRate({ health }: { health: Endpoint["health24h"] }) {
  const rate = formatRate(health?.successRate ?? null);
  if (rate === null) return <Text c="dimmed">–</Text>;
  return health?.isSampled === true ? <span title="Measured on a sample">≈ {rate}</span> : rate;
}

function EventTypes({ types }: { types: Endpoint["eventTypes"] }) {
  if (types === null) return "All";
  return (
    <Stack gap={0} className={classes.state}>
      {types.map((type) => (
        <span key={type} className={classes.code}>
          {eventTypeCode(type)}
        </span>
      ))}
    </Stack>
  );
}
