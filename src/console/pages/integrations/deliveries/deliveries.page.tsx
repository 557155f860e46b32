/** The delivery log, with filters from the URL. */
import { NetworkStatus } from "@apollo/client";
import { useQuery } from "@apollo/client/react";
import { Button, Text } from "@mantine/core";
import { IconFilterOff, IconSend } from "@tabler/icons-react";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import { guide } from "../../../app/guide/guide-pages.ts";
import { ButtonLink } from "../../../components/layout/links.tsx";
import { PageHeader } from "../../../components/layout/page-header.tsx";
import { LoadMore } from "../../../components/tables/pager.tsx";
import { EmptyState, ErrorState, LoadingState } from "../../../components/status/page-states.tsx";
import { WebhookDeliveriesDocument } from "../../../generated/webhook-deliveries.ts";
import { ListedModeControl } from "../listed-mode.control.tsx";
import { deliveriesVariables, hasDeliveryFilters } from "./deliveries.search.ts";
import { DeliveriesFilters } from "./deliveries.filters.tsx";
import { DeliverySelectionBar } from "./delivery-selection.tsx";
import { ReplaySelectedDialog } from "./replay-selected.dialog.tsx";
import type { DeliveryRowFragment } from "../../../generated/webhook-deliveries.ts";
import { useDialog } from "../../../app/interaction/use-dialog.ts";
import { useSelection } from "../../../components/tables/use-selection.ts";
import { DeliveriesTable } from "./deliveries.table.tsx";

const route = getRouteApi("/console/integrations/deliveries");
const PAGE_SIZE = 30;

export function DeliveriesPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  // "Last hour" ends when it was chosen, so that the pages of the list belong together.
  const variables = useMemo(() => deliveriesVariables(search), [search]);
  const query = useQuery(WebhookDeliveriesDocument, {
    variables: { ...variables, first: PAGE_SIZE },
    notifyOnNetworkStatusChange: true,
  });
  const { data, previousData, error, networkStatus, refetch, fetchMore } = query;
  const log = (data ?? previousData)?.webhookDeliveries;
  const deliveries = log?.edges.map(({ node }) => node) ?? [];
  const isStale = !data && networkStatus === NetworkStatus.setVariables;
  return (
    <>
      <PageHeader
        title="Deliveries"
        description="Every delivery of an event to an endpoint, newest first."
        actions={
          <ListedModeControl
            search={search}
            // An endpoint has one mode.
            onChange={(mode) =>
              void navigate({ search: { ...search, endpoint: undefined, ...mode }, replace: true })
            }
          />
        }
      />
      <DeliveriesFilters />
      {error && <ErrorState error={error} onRetry={() => void refetch()} />}
      {!error && !log && <LoadingState label="Loading deliveries" rows={9} />}
      {!error && log && deliveries.length === 0 && !log.pageInfo.hasNextPage && (
        <NoDeliveries hasFilters={hasDeliveryFilters(search)} />
      )}
      {!error && <SelectableDeliveries deliveries={deliveries} isStale={isStale} />}
      {!error && deliveries.length === 0 && log?.pageInfo.hasNextPage === true && (
        <Text c="dimmed" fz="sm">
          The newest deliveries don’t match. Load more to search older ones.
        </Text>
      )}
      {!error && (
        <LoadMore
          hasMore={log?.pageInfo.hasNextPage ?? false}
          isLoading={isStale || networkStatus === NetworkStatus.fetchMore}
          onLoadMore={() => fetchMore({ variables: { after: log?.pageInfo.endCursor } })}
        />
      )}
    </>
  );
}

/** Stays mounted without deliveries, because a replay can empty the list while its report is open. */
function SelectableDeliveries({
  deliveries,
  isStale,
}: {
  deliveries: readonly DeliveryRowFragment[];
  isStale: boolean;
}) {
  const selection = useSelection("deliveries");
  const replaying = useDialog<readonly DeliveryRowFragment[]>();
  // Only those that are shown: other filters may hide a selected one.
  const selected = deliveries.filter(({ id }) => selection.selected.has(id));
  return (
    <>
      {deliveries.length > 0 && (
        <DeliveriesTable deliveries={deliveries} isStale={isStale} selection={selection} />
      )}
      <DeliverySelectionBar
        count={selected.length}
        onReplay={() => replaying.open(selected)}
        onClear={selection.clear}
      />
      <ReplaySelectedDialog dialog={replaying} onReplayed={selection.clear} />
    </>
  );
}

function NoDeliveries({ hasFilters }: { hasFilters: boolean }) {
  const navigate = useNavigate();
  if (hasFilters) {
    const clear = (
      <Button variant="default" onClick={() => void navigate({ to: "/integrations/deliveries", search: {} })}>
        Clear filters
      </Button>
    );
    return (
      <EmptyState
        icon={IconFilterOff}
        title="No matching deliveries"
        action={clear}
        guide={guide.deliveryLog}
      >
        No delivery in the log matches all filters.
      </EmptyState>
    );
  }
  return (
    <EmptyState
      icon={IconSend}
      title="No deliveries yet"
      action={<ButtonLink to="/integrations/endpoints">Go to endpoints</ButtonLink>}
    >
      When a job changes, a delivery appears here for each endpoint that subscribes to the event. Send a test
      event to check your receiver now.
    </EmptyState>
  );
}
