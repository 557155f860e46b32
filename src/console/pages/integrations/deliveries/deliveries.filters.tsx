/** Filters of the delivery log, stored in the URL. */
import { useQuery } from "@apollo/client/react";
import { Select } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { WebhookEndpointNamesDocument } from "../../../generated/webhook-endpoints.ts";
import { SearchField } from "../../../components/forms/search-field.tsx";
import type { DeliveriesSearch } from "./deliveries.search.ts";
import { listedMode } from "../listed-mode.ts";
import { eventTypeCode, webhookEventTypes } from "../event-types.ts";
import classes from "../integrations.module.css";
import { deliveryStatuses, statusLabel } from "./delivery-status.ts";

const route = getRouteApi("/console/integrations/deliveries");

const statusOptions = deliveryStatuses.map((status) => ({
  value: status.toLowerCase(),
  label: statusLabel(status),
}));
const eventOptions = webhookEventTypes.map(eventTypeCode);

export function DeliveriesFilters() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const endpoints = useEndpointOptions(search);
  const change = (part: Partial<DeliveriesSearch>): void =>
    void navigate({ search: (former) => ({ ...former, ...part }), replace: true });
  return (
    <div className={classes.filters} role="search" aria-label="Filter deliveries">
      <SearchField
        label="Marking Number"
        value={search.marking_number ?? ""}
        onDebouncedChange={(text) => change({ marking_number: text === "" ? undefined : text })}
        maxLength={120}
        spellCheck={false}
      />
      <Select
        label="Endpoint"
        placeholder="All"
        data={endpoints}
        value={search.endpoint ?? null}
        onChange={(id) => change({ endpoint: id ?? undefined })}
        clearable
        searchable
      />
      <Select
        label="Status"
        placeholder="All"
        data={statusOptions}
        value={search.status ?? null}
        onChange={(status) => change({ status: (status ?? undefined) as DeliveriesSearch["status"] })}
        clearable
      />
      <Select
        label="Event"
        placeholder="All"
        data={eventOptions}
        value={search.event ?? null}
        onChange={(event) => change({ event: event ?? undefined })}
        clearable
      />
    </div>
  );
}

/** Includes a deleted endpoint if the URL names one, because its deliveries stay in the log. */
function useEndpointOptions(search: DeliveriesSearch): { value: string; label: string }[] {
  const { endpoint: selected } = search;
  const { data } = useQuery(WebhookEndpointNamesDocument, { variables: { mode: listedMode(search) } });
  const options = (data?.webhookEndpoints ?? []).map(({ id, url, description }) => ({
    value: id,
    label: description === "" ? url : `${description} (${url})`,
  }));
  const isMissing = selected !== undefined && !options.some(({ value }) => value === selected);
  return isMissing ? [...options, { value: selected, label: selected }] : options;
}
