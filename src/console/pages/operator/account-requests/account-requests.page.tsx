/** The list of account requests. */
import { useQuery } from "@apollo/client/react";
import { Text } from "@mantine/core";
import { IconInbox } from "@tabler/icons-react";
import { getRouteApi } from "@tanstack/react-router";
import { FilterTab, FilterTabs } from "../../../components/tables/filter-tabs.tsx";
import { PageHeader } from "../../../components/layout/page-header.tsx";
import { LoadMore } from "../../../components/tables/pager.tsx";
import { EmptyState, ErrorState, LoadingState } from "../../../components/status/page-states.tsx";
import {
  AccountRequestCountsDocument,
  AccountRequestsPageDocument,
} from "../../../generated/account-requests.ts";
import { toStatuses, type AccountRequestsSearch } from "./account-requests.search.ts";
import { AccountRequestsTable } from "./account-requests.table.tsx";

const route = getRouteApi("/console/operator/requests");

export function AccountRequestsPage() {
  return (
    <>
      <PageHeader
        title="Account requests"
        description="People who requested an account. Access requires your approval."
      />
      <StatusTabs />
      <RequestList />
    </>
  );
}

const exactMatch = { activeOptions: { exact: true }, to: "/operator/requests" } as const;

function StatusTabs() {
  const { data } = useQuery(AccountRequestCountsDocument);
  return (
    <FilterTabs label="Status">
      <FilterTab {...exactMatch} search={{}} count={data?.pending?.totalCount}>
        Pending{" "}
      </FilterTab>
      <FilterTab
        {...exactMatch}
        search={{ status: "awaiting_reply" }}
        count={data?.awaitingReply?.totalCount}
      >
        Question sent{" "}
      </FilterTab>
      <FilterTab {...exactMatch} search={{ status: "approved" }} count={data?.approved?.totalCount}>
        Approved
      </FilterTab>
      <FilterTab {...exactMatch} search={{ status: "registered" }}>
        Registered
      </FilterTab>
      <FilterTab {...exactMatch} search={{ status: "rejected" }}>
        Rejected
      </FilterTab>
      <FilterTab {...exactMatch} search={{ status: "all" }}>
        All
      </FilterTab>
    </FilterTabs>
  );
}

function RequestList() {
  const search = route.useSearch();
  const { data, error, loading, refetch, fetchMore } = useQuery(AccountRequestsPageDocument, {
    variables: { status: toStatuses(search) },
  });
  const page = data?.accountRequests;
  if (error && !page) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (!page) return <LoadingState />;
  const requests = page.edges.map(({ node }) => node);
  if (requests.length === 0) return <NoRequests search={search} />;
  const { hasNextPage, endCursor } = page.pageInfo;
  return (
    <>
      <AccountRequestsTable requests={requests} showStatus={search.status === "all"} />
      <LoadMore
        hasMore={hasNextPage}
        isLoading={loading}
        onLoadMore={() => fetchMore({ variables: { after: endCursor } })}
      />
    </>
  );
}

function NoRequests({ search: { status } }: { search: AccountRequestsSearch }) {
  if (status !== undefined) return <EmptyState icon={IconInbox} title="No requests with this status" />;
  return (
    <EmptyState icon={IconInbox} title="No pending requests">
      <Text inherit>
        People request access on the “Request an account” page, linked from the sign-in page.
      </Text>
    </EmptyState>
  );
}
