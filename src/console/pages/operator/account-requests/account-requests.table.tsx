/** A table of account requests. */
import { Group, Text } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import { Email } from "../../../components/display/email.tsx";
import { DataTable, type Column } from "../../../components/tables/data-table.tsx";
import { TextLink } from "../../../components/layout/links.tsx";
import { StatusBadge } from "../../../components/status/status-badge.tsx";
import { Timestamp } from "../../../components/display/timestamp.tsx";
import type { AccountRequestRowFragment } from "../../../generated/account-requests.ts";
import { organizationTypeLabels, requestStatusLabels } from "./account-request.labels.ts";
import classes from "../operator.module.css";

type Request = AccountRequestRowFragment;

const columns: Column<Request>[] = [
  {
    id: "organization",
    header: "Organisation",
    isTitle: true,
    cell: (request) => <RequestingOrganization request={request} />,
  },
  { id: "type", header: "Type", cell: ({ organizationType }) => organizationTypeLabels[organizationType] },
  {
    id: "email",
    header: "E-mail",
    cell: ({ email }) => (
      <span className={classes.anywhere}>
        <Email address={email} />
      </span>
    ),
  },
  { id: "came", header: "Received", cell: ({ createdAt }) => <Timestamp value={createdAt} /> },
];

const status: Column<Request> = {
  id: "status",
  header: "Status",
  cell: (request) => <StatusBadge {...requestStatusLabels[request.status]} />,
};

interface AccountRequestsTableProps {
  requests: readonly Request[];
  /** For the list of all statuses. */
  showStatus: boolean;
}

export function AccountRequestsTable({ requests, showStatus }: AccountRequestsTableProps) {
  return (
    <DataTable
      caption="Account requests"
      columns={showStatus ? [...columns, status] : columns}
      rows={requests}
      rowKey={({ id }) => id}
    />
  );
}

function RequestingOrganization({ request: { id, organizationName, warnings } }: { request: Request }) {
  return (
    <div>
      <TextLink to="/operator/requests/$id" params={{ id }} className={classes.anywhere}>
        {organizationName}
      </TextLink>
      {warnings.length > 0 && (
        <Group gap={6} wrap="nowrap" className={classes.warning}>
          <IconAlertTriangle size={15} aria-hidden="true" />
          <Text component="span" fz="sm" fw={500}>
            {warnings.length === 1 ? warnings[0] : `${warnings.length} warnings`}
          </Text>
        </Group>
      )}
    </div>
  );
}
