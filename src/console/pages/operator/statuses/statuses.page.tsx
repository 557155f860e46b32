/** The catalogue of statuses, by category. */
import { useQuery } from "@apollo/client/react";
import { Button, Stack, Text, Title } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { useDialog } from "../../../app/interaction/use-dialog.ts";
import { DataTable, type Column } from "../../../components/tables/data-table.tsx";
import { PageHeader } from "../../../components/layout/page-header.tsx";
import { ErrorState, LoadingState } from "../../../components/status/page-states.tsx";
import { StatusBadge } from "../../../components/status/status-badge.tsx";
import { toneOf } from "../../../components/status/tone.ts";
import { StatusesPageDocument, type StatusRowFragment } from "../../../generated/statuses.ts";
import classes from "../operator.module.css";
import { StatusDialog } from "./status.dialog.tsx";
import { statusCategoryOptions } from "./status.categories.ts";

type Status = StatusRowFragment;

export function StatusesPage() {
  const { data, error, refetch } = useQuery(StatusesPageDocument);
  const dialog = useDialog<Status | "new">();
  return (
    <>
      <PageHeader
        title="Statuses"
        description="All statuses that a job can have. Integrations depend on the codes, so codes can’t be renamed or removed."
        actions={
          <Button leftSection={<IconPlus size={16} aria-hidden="true" />} onClick={() => dialog.open("new")}>
            Add status
          </Button>
        }
      />
      {data?.jobStatuses ? (
        <Catalogue statuses={data.jobStatuses} onChange={dialog.open} />
      ) : error ? (
        <ErrorState error={error} onRetry={() => void refetch()} />
      ) : (
        <LoadingState />
      )}
      <StatusDialog
        key={dialog.openCount}
        opened={dialog.isOpen}
        onClose={dialog.close}
        status={dialog.subject === "new" ? null : dialog.subject}
        onSaved={() => void refetch()}
      />
    </>
  );
}

interface CatalogueProps {
  statuses: readonly Status[];
  onChange: (status: Status) => void;
}

function Catalogue({ statuses, onChange }: CatalogueProps) {
  const columns = statusColumns(onChange);
  return (
    <Stack gap="xl" className={classes.catalogue}>
      {statusCategoryOptions.map(({ value, label, description }) => {
        const ofCategory = statuses.filter(({ category }) => category === value);
        if (ofCategory.length === 0) return null;
        return (
          <section key={value} aria-labelledby={value}>
            <Title order={2} id={value}>
              {label}
            </Title>
            <Text c="dimmed" fz="sm" mb="sm">
              {description}
            </Text>
            <DataTable caption={label} columns={columns} rows={ofCategory} rowKey={({ code }) => code} />
          </section>
        );
      })}
    </Stack>
  );
}

function statusColumns(onChange: (status: Status) => void): Column<Status>[] {
  return [
    {
      id: "label",
      header: "Status",
      isTitle: true,
      cell: ({ label, category }) => <StatusBadge label={label} tone={toneOf(category)} />,
    },
    { id: "code", header: "Code", cell: ({ code }) => <code>{code}</code> },
    { id: "end", header: "Final status", cell: ({ isTerminal }) => (isTerminal ? "Yes" : "No") },
    {
      id: "change",
      header: "Edit",
      isActions: true,
      cell: (status) => (
        <Button
          variant="subtle"
          size="compact-sm"
          onClick={() => onChange(status)}
          aria-label={`Edit ${status.label}`}
        >
          Edit…{" "}
        </Button>
      ),
    },
  ];
}
