/** What narrows the log of deliveries; each filter goes into the address. */
import { useQuery } from "@apollo/client/react";
import { Select } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { WebhookEndpointNamesDocument } from "../../generated/webhook-endpoints.ts";
import { SearchField } from "../../components/search-field.tsx";
import type { DeliveriesSearch } from "./deliveries.search.ts";
import { eventTypeCode, webhookEventTypes } from "./event-types.ts";
import classes from "./integrations.module.css";
import { deliveryStatuses, statusLabel } from "./outcomes.ts";

const route = getRouteApi("/console/integrations/deliveries");

const statuses = deliveryStatuses.map((status) => ({
  value: status.toLowerCase(),
  label: statusLabel(status),
}));
const events = webhookEventTypes.map(eventTypeCode);

export function DeliveryFilters() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const endpoints = useEndpointChoices(search.endpoint);
  const change = (part: Partial<DeliveriesSearch>): void =>
    void navigate({ search: (former) => ({ ...former, ...part }), replace: true });
  return (
    <div className={classes.filters} role="search" aria-label="Filter deliveries">
      <SearchField
        label="Marking Number"
        value={search.marking_number ?? ""}
        onSettled={(text) => change({ marking_number: text === "" ? undefined : text })}
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
        data={statuses}
        value={search.status ?? null}
        onChange={(status) => change({ status: (status ?? undefined) as DeliveriesSearch["status"] })}
        clearable
      />
      <Select
        label="Event"
        placeholder="All"
        data={events}
        value={search.event ?? null}
        onChange={(event) => change({ event: event ?? undefined })}
        clearable
      />
    </div>
  );
}

/** A deleted endpoint has its deliveries still, and may be asked for. */
function useEndpointChoices(chosen: string | undefined): { value: string; label: string }[] {
  const { data } = useQuery(WebhookEndpointNamesDocument);
  const choices = (data?.webhookEndpoints ?? []).map(({ id, url, description }) => ({
    value: id,
    label: description === "" ? url : `${description} (${url})`,
  }));
  const isMissing = chosen !== undefined && !choices.some(({ value }) => value === chosen);
  return isMissing ? [...choices, { value: chosen, label: chosen }] : choices;
}
