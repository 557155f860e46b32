/** All organisations, by name. */
import { formatNumber } from "../../../app/formats.ts";
import { useQuery } from "@apollo/client/react";
import { Text } from "@mantine/core";
import { IconBuildingCommunity, IconSearch } from "@tabler/icons-react";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { guide } from "../../../app/guide/guide-pages.ts";
import { DataTable, type Column } from "../../../components/tables/data-table.tsx";
import { ButtonLink, TextLink } from "../../../components/layout/links.tsx";
import { PageHeader } from "../../../components/layout/page-header.tsx";
import { LoadMore } from "../../../components/tables/pager.tsx";
import { EmptyState, ErrorState, LoadingState } from "../../../components/status/page-states.tsx";
import { StatusBadge } from "../../../components/status/status-badge.tsx";
import {
  OrganizationsPageDocument,
  type OrganizationListRowFragment,
  type OrganizationRowFragment,
} from "../../../generated/organizations.ts";
import { SEARCH_KEY } from "../../../app/interaction/keys.ts";
import { SearchField } from "../../../components/forms/search-field.tsx";
import { organizationTypeLabels } from "../account-requests/account-request.labels.ts";
import classes from "../operator.module.css";
import { AttentionList } from "./attention.list.tsx";
import { formatShare, isMostlyRefused, LastTime, totalOf } from "./organization.figures.tsx";

const route = getRouteApi("/console/operator/organizations");

export function OrganizationsPage() {
  const { q } = route.useSearch();
  const navigate = useNavigate({ from: "/operator/organizations" });
  return (
    <>
      <PageHeader
        title="Organisations"
        description="Agents own jobs; contractors are assigned to jobs and carry them out."
      />
      <SearchField
        aria-keyshortcuts={SEARCH_KEY}
        value={q ?? ""}
        onDebouncedChange={(text) =>
          void navigate({ search: { q: text === "" ? undefined : text }, replace: true })
        }
        label="Search by name"
        leftSection={<IconSearch size={16} aria-hidden="true" />}
        maxLength={200}
        maw={360}
        mb="md"
      />
      {q === undefined && <AttentionList />}
      <OrganizationList search={q} />
    </>
  );
}

const columns: Column<OrganizationListRowFragment>[] = [
  {
    id: "name",
    header: "Name",
    isTitle: true,
    cell: ({ id, name }) => (
      <TextLink to="/operator/organizations/$id" params={{ id }} className={classes.anywhere}>
        {name}
      </TextLink>
    ),
  },
  { id: "type", header: "Type", cell: ({ type }) => organizationTypeLabels[type] },
  { id: "active", header: "Last activity", cell: ({ activity }) => <LastActivity activity={activity} /> },
  {
    id: "requests",
    header: "Requests (7 days)",
    align: "end",
    cell: ({ activity }) => activity && formatNumber(totalOf(activity.requests)),
  },
  {
    id: "refused",
    header: "4xx",
    align: "end",
    cell: ({ activity }) => activity && <RefusedShare requests={activity.requests} />,
  },
  {
    id: "failing",
    header: "Failing endpoints",
    align: "end",
    cell: ({ activity }) =>
      activity && (
        <span className={activity.failingEndpoints > 0 ? classes.warning : undefined}>
          {formatNumber(activity.failingEndpoints)}
        </span>
      ),
  },
  {
    id: "status",
    header: "Status",
    cell: (organization) => <OrganizationStatusBadge organization={organization} />,
  },
];

type Activity = NonNullable<OrganizationListRowFragment["activity"]>;

/** The later of the last API request and the last use of the console. */
function LastActivity({ activity }: { activity: Activity | null }) {
  const times = [activity?.lastRequestAt, activity?.lastSeenAt].filter((at) => typeof at === "string");
  return <LastTime value={times.toSorted().at(-1)} />;
}

function RefusedShare({ requests }: { requests: Activity["requests"] }) {
  return (
    <span className={isMostlyRefused(requests) ? classes.warning : undefined}>
      {formatShare(requests.refused, totalOf(requests))}
    </span>
  );
}

export function OrganizationStatusBadge({
  organization,
}: {
  organization: Pick<OrganizationRowFragment, "suspendedAt">;
}) {
  return organization.suspendedAt === null ? (
    <StatusBadge tone="success" label="Active" />
  ) : (
    <StatusBadge tone="danger" label="Suspended" />
  );
}

function OrganizationList({ search }: { search: string | undefined }) {
  const { data, previousData, error, loading, refetch, fetchMore } = useQuery(OrganizationsPageDocument, {
    variables: { search },
  });
  const page = (data ?? (error ? undefined : previousData))?.organizations;
  if (error && !page) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (!page) return <LoadingState />;
  if (page.edges.length === 0) return <NoOrganizations search={search} />;
  const { hasNextPage, endCursor } = page.pageInfo;
  return (
    <>
      <Text c="dimmed" fz="sm" mb="xs" role="status">
        {page.totalCount === 1 ? "1 organisation" : `${formatNumber(page.totalCount)} organisations`}
      </Text>
      <DataTable
        caption="Organisations"
        columns={columns}
        rows={page.edges.map(({ node }) => node)}
        rowKey={({ id }) => id}
        isStale={!data}
      />
      <LoadMore
        hasMore={hasNextPage}
        isLoading={loading}
        onLoadMore={() => fetchMore({ variables: { after: endCursor } })}
      />
    </>
  );
}

function NoOrganizations({ search }: { search: string | undefined }) {
  if (search !== undefined)
    return <EmptyState icon={IconSearch} title="No matching organisations" guide={guide.organizations} />;
  return (
    <EmptyState
      icon={IconBuildingCommunity}
      title="No organisations yet"
      action={
        <ButtonLink to="/operator/requests" variant="default">
          Account requests
        </ButtonLink>
      }
    >
      Approve an account request to create an organisation, or run <code>waymark org create</code>.
    </EmptyState>
  );
}
