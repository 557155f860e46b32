/** The log of API requests of the organisation. */
import { NetworkStatus } from "@apollo/client";
import { skipToken, useQuery } from "@apollo/client/react";
import { Button } from "@mantine/core";
import { IconFilterOff, IconListSearch } from "@tabler/icons-react";
import { getRouteApi } from "@tanstack/react-router";
import { useSession } from "../../../app/session/session.ts";
import { guide } from "../../../app/guide/guide-pages.ts";
import { ButtonLink } from "../../../components/layout/links.tsx";
import { PageHeader } from "../../../components/layout/page-header.tsx";
import { LoadMore } from "../../../components/tables/pager.tsx";
import { EmptyState, ErrorState, LoadingState } from "../../../components/status/page-states.tsx";
import { RequestLogDocument } from "../../../generated/request-log.ts";
import { RequestDrawer } from "./request.drawer.tsx";
import { RequestsFilters } from "./requests.filters.tsx";
import { RequestsTable } from "./requests.table.tsx";
import { hasRequestFilters, requestsVariables } from "./requests.search.ts";

const route = getRouteApi("/console/integrations/requests");
const PAGE_SIZE = 50;

export function RequestsPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  // Operators have no list, but can look up any request by its ID.
  const needsId = useSession().organization === null && search.request_id === undefined;
  const query = useQuery(
    RequestLogDocument,
    needsId
      ? skipToken
      : { variables: { ...requestsVariables(search), first: PAGE_SIZE }, notifyOnNetworkStatusChange: true },
  );
  const { data, previousData, error, networkStatus, refetch, fetchMore } = query;
  const log = (data ?? previousData)?.requestLog;
  const requests = log?.edges.map(({ node }) => node) ?? [];
  const isStale = !data && networkStatus === NetworkStatus.setVariables;
  const open = (id: string | undefined): void =>
    void navigate({ search: (former) => ({ ...former, open: id }), resetScroll: false });
  return (
    <>
      <PageHeader
        title="Request log"
        description="API requests made with your organisation’s keys. Search by the request_id of a response."
      />
      <RequestsFilters />
      {error && <ErrorState error={error} onRetry={() => void refetch()} />}
      {needsId && (
        <EmptyState icon={IconListSearch} title="Enter a request ID" guide={guide.requestsAndUsage} />
      )}
      {!needsId && !error && !log && <LoadingState label="Loading requests" rows={9} />}
      {!error && log && requests.length === 0 && <NoRequests hasFilters={hasRequestFilters(search)} />}
      {!error && requests.length > 0 && <RequestsTable requests={requests} isStale={isStale} onOpen={open} />}
      {!error && (
        <LoadMore
          hasMore={log?.pageInfo.hasNextPage ?? false}
          isLoading={isStale || networkStatus === NetworkStatus.fetchMore}
          onLoadMore={() => fetchMore({ variables: { after: log?.pageInfo.endCursor } })}
        />
      )}
      <RequestDrawer requestId={search.open} onClose={() => open(undefined)} />
    </>
  );
}

function NoRequests({ hasFilters }: { hasFilters: boolean }) {
  const navigate = route.useNavigate();
  if (hasFilters) {
    const clear = (
      <Button variant="default" onClick={() => void navigate({ search: {} })}>
        Clear filters
      </Button>
    );
    return (
      <EmptyState
        icon={IconFilterOff}
        title="No matching requests"
        action={clear}
        guide={guide.requestsAndUsage}
      >
        No request in the log matches all filters. New requests appear after a few seconds.
      </EmptyState>
    );
  }
  return (
    <EmptyState
      icon={IconListSearch}
      title="No requests yet"
      action={<ButtonLink to="/integrations/keys">Go to API keys</ButtonLink>}
    >
      Requests made with your keys appear here after a few seconds.
    </EmptyState>
  );
}
