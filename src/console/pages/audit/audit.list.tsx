/** Entries of the audit log, each with a button that shows its details. */
import { useQuery } from "@apollo/client/react";
import { Button, Group, Stack, Text } from "@mantine/core";
import { IconClipboardList } from "@tabler/icons-react";
import { useDialog } from "../../app/interaction/use-dialog.ts";
import { CodeBlock } from "../../components/display/code-block.tsx";
import { CopyButton } from "../../components/display/copy-button.tsx";
import { DataTable, type Column } from "../../components/tables/data-table.tsx";
import { Dialog } from "../../components/dialogs/dialog.tsx";
import { TextLink } from "../../components/layout/links.tsx";
import { LoadMore } from "../../components/tables/pager.tsx";
import { EmptyState, ErrorState, LoadingState } from "../../components/status/page-states.tsx";
import { Timestamp } from "../../components/display/timestamp.tsx";
import { AuditPageDocument, type AuditEntryRowFragment } from "../../generated/audit-log.ts";
import { auditActionLabels } from "./audit.labels.ts";
import classes from "../operator/operator.module.css";

type Entry = AuditEntryRowFragment;

interface AuditListProps {
  filter: { actions?: string[] | undefined; organizationId?: string | undefined };
  showOrganization: boolean;
  /** Page size. */
  first: number;
}

export function AuditList({ filter, showOrganization, first }: AuditListProps) {
  const dialog = useDialog<Entry>();
  const { data, error, loading, refetch, fetchMore } = useQuery(AuditPageDocument, {
    variables: { ...filter, first },
  });
  const page = data?.auditLog;
  if (error && !page) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (!page) return <LoadingState />;
  if (page.edges.length === 0) {
    return (
      <EmptyState
        icon={IconClipboardList}
        title={filter.actions === undefined ? "No entries yet" : "No matching entries"}
      >
        Actions of users and operators appear here, one entry per action.
      </EmptyState>
    );
  }
  const { hasNextPage, endCursor } = page.pageInfo;
  return (
    <>
      <DataTable
        caption="Audit log"
        columns={auditColumns(showOrganization, dialog.open)}
        rows={page.edges.map(({ node }) => node)}
        rowKey={({ id }) => id}
      />
      <LoadMore
        hasMore={hasNextPage}
        isLoading={loading}
        onLoadMore={() => fetchMore({ variables: { after: endCursor } })}
      />
      <Dialog
        opened={dialog.isOpen}
        onClose={dialog.close}
        title={dialog.subject && actionLabel(dialog.subject)}
        size="lg"
      >
        {dialog.subject && <EntryDetails entry={dialog.subject} />}
      </Dialog>
    </>
  );
}

function actionLabel({ action }: Entry): string {
  return auditActionLabels[action] ?? action;
}

function auditColumns(showOrganization: boolean, onDetails: (entry: Entry) => void): Column<Entry>[] {
  const organizationColumn: Column<Entry> = {
    id: "organization",
    header: "Organisation",
    cell: ({ organization }) =>
      organization && (
        <TextLink
          to="/operator/organizations/$id"
          params={{ id: organization.id }}
          className={classes.anywhere}
        >
          {organization.name}
        </TextLink>
      ),
  };
  return [
    {
      id: "action",
      header: "Action",
      isTitle: true,
      cell: (entry) => <ActionCell entry={entry} withOrganization={showOrganization} />,
    },
    { id: "actor", header: "Actor", cell: ({ actor }) => <span className={classes.anywhere}>{actor}</span> },
    ...(showOrganization ? [organizationColumn] : []),
    { id: "at", header: "Time", cell: ({ at }) => <Timestamp value={at} /> },
    {
      id: "details",
      header: "Details",
      isActions: true,
      cell: (entry) => (
        <Button
          variant="subtle"
          size="compact-sm"
          onClick={() => onDetails(entry)}
          aria-label={`Details: ${actionLabel(entry)}`}
        >
          Details
        </Button>
      ),
    },
  ];
}

function ActionCell({ entry, withOrganization }: { entry: Entry; withOrganization: boolean }) {
  // The organisation's own page need not repeat its id.
  const isKnown = !withOrganization && entry.subject === entry.organization?.id;
  return (
    <div>
      {actionLabel(entry)}
      {entry.subject !== null && !isKnown && (
        <Text component="div" fz="sm" c="dimmed" fw={400} className={classes.anywhere}>
          <Subject id={entry.subject} />
        </Text>
      )}
    </div>
  );
}

function Subject({ id }: { id: string }) {
  if (!id.startsWith("arq_")) return id;
  return (
    <TextLink to="/operator/requests/$id" params={{ id }} c="dimmed" inherit>
      {id}
    </TextLink>
  );
}

function EntryDetails({ entry }: { entry: Entry }) {
  const items: [label: string, value: string | null][] = [
    ["Action", entry.action],
    ["Actor", entry.actor],
    ["Subject", entry.subject],
    ["Organisation", entry.organization?.name ?? null],
    ["IP address", entry.ipAddress],
    ["Request ID", entry.requestId],
  ];
  return (
    <Stack gap="sm">
      <Text c="dimmed" fz="sm">
        <Timestamp value={entry.at} display="exact" />
      </Text>
      {items.map(([label, value]) =>
        value === null ? null : (
          <Group key={label} gap="xs" justify="space-between" wrap="nowrap" align="baseline">
            <Text c="dimmed" fz="sm">
              {label}
            </Text>
            <Group gap={4} wrap="nowrap">
              <Text fz="sm" ta="end" className={classes.anywhere}>
                {value}
              </Text>
              {label === "Request ID" && <CopyButton value={value} label="request ID" />}
            </Group>
          </Group>
        ),
      )}
      {entry.details !== null && (
        <CodeBlock code={JSON.stringify(entry.details, null, 2)} label="details" wrap />
      )}
    </Stack>
  );
}
