/** The e-mails of the last 30 days and their status. */
import { useQuery } from "@apollo/client/react";
import { Text, UnstyledButton } from "@mantine/core";
import { IconMail, IconMailbox } from "@tabler/icons-react";
import { getRouteApi } from "@tanstack/react-router";
import { useDialog } from "../../../app/interaction/use-dialog.ts";
import { DataTable, type Column } from "../../../components/tables/data-table.tsx";
import { FilterTab, FilterTabs } from "../../../components/tables/filter-tabs.tsx";
import { PageHeader } from "../../../components/layout/page-header.tsx";
import { LoadMore } from "../../../components/tables/pager.tsx";
import { EmptyState, ErrorState, LoadingState } from "../../../components/status/page-states.tsx";
import { StatusBadge } from "../../../components/status/status-badge.tsx";
import { Timestamp } from "../../../components/display/timestamp.tsx";
import { MailPageDocument, type MailRowFragment } from "../../../generated/mail-outbox.ts";
import { MailDialog } from "./mail.dialog.tsx";
import { toMailStatus } from "./mail.search.ts";
import { kindLabel, mailStatusLabels } from "./mail.labels.ts";
import classes from "../operator.module.css";
import { Alert } from "../../../components/status/alert.tsx";

const route = getRouteApi("/console/operator/mail");

export function MailPage() {
  return (
    <>
      <PageHeader
        title="Mail"
        description="E-mails from this service in the last 30 days, and whether they were sent."
      />
      <StatusTabs />
      <MailList />
    </>
  );
}

const exactMatch = { activeOptions: { exact: true }, to: "/operator/mail" } as const;

function StatusTabs() {
  return (
    <FilterTabs label="Status">
      <FilterTab {...exactMatch} search={{}}>
        All
      </FilterTab>
      <FilterTab {...exactMatch} search={{ status: "pending" }}>
        Pending{" "}
      </FilterTab>
      <FilterTab {...exactMatch} search={{ status: "sent" }}>
        Sent
      </FilterTab>
      <FilterTab {...exactMatch} search={{ status: "failed" }}>
        Failed{" "}
      </FilterTab>
      <FilterTab {...exactMatch} search={{ status: "stored" }}>
        Stored{" "}
      </FilterTab>
    </FilterTabs>
  );
}

function MailList() {
  const search = route.useSearch();
  const dialog = useDialog<string>();
  const status = toMailStatus(search);
  const { data, error, loading, refetch, fetchMore } = useQuery(MailPageDocument, { variables: { status } });
  const page = data?.mailOutbox;
  if (error && !page) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (!page) return <LoadingState />;
  const mails = page.edges.map(({ node }) => node);
  if (mails.length === 0) return <NoMails isFiltered={status !== undefined} />;
  const { hasNextPage, endCursor } = page.pageInfo;
  return (
    <>
      {mails.some((mail) => mail.status === "STORED") && <NoMailServerNotice />}
      <DataTable
        caption="E-mails"
        columns={mailColumns(({ id }) => dialog.open(id))}
        rows={mails}
        rowKey={({ id }) => id}
      />
      <LoadMore
        hasMore={hasNextPage}
        isLoading={loading}
        onLoadMore={() => fetchMore({ variables: { after: endCursor } })}
      />
      <MailDialog
        key={dialog.openCount}
        opened={dialog.isOpen}
        onClose={dialog.close}
        mail={mails.find(({ id }) => id === dialog.subject) ?? null}
      />
    </>
  );
}

function mailColumns(onOpen: (mail: MailRowFragment) => void): Column<MailRowFragment>[] {
  return [
    {
      id: "subject",
      header: "Subject",
      isTitle: true,
      cell: (mail) => (
        <UnstyledButton className={classes.opener} onClick={() => onOpen(mail)}>
          {mail.subject}
        </UnstyledButton>
      ),
    },
    { id: "to", header: "To", cell: ({ to }) => <span className={classes.anywhere}>{to}</span> },
    { id: "kind", header: "Type", cell: ({ kind }) => kindLabel(kind) },
    { id: "status", header: "Status", cell: ({ status }) => <StatusBadge {...mailStatusLabels[status]} /> },
    { id: "at", header: "Created", cell: ({ createdAt }) => <Timestamp value={createdAt} /> },
  ];
}

function NoMailServerNotice() {
  return (
    <Alert
      color="gray"
      icon={<IconMailbox aria-hidden="true" />}
      mb="md"
      title="No mail server configured"
      guide="screen"
    >
      E-mails are stored here and as files in the data folder. Open one to follow its link. Set{" "}
      <code>SMTP_URL</code> to send them.
    </Alert>
  );
}

function NoMails({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) return <EmptyState icon={IconMail} title="No e-mails with this status" />;
  return (
    <EmptyState icon={IconMail} title="No e-mails yet">
      <Text inherit>
        E-mails are sent for registrations, invitations, password resets and failing endpoints, for example.
      </Text>
    </EmptyState>
  );
}
