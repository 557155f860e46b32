/** Filters of the delivery log, stored in the URL. */
import { useQuery } from "@apollo/client/react";
import { Select, TextInput } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { WebhookEndpointNamesDocument } from "../../../generated/webhook-endpoints.ts";
import { SEARCH_KEY } from "../../../app/interaction/keys.ts";
import { SearchField } from "../../../components/forms/search-field.tsx";
import {
  isEmptyRange,
  type Period,
  periods,
  responseClasses,
  type DeliveriesSearch,
} from "./deliveries.search.ts";
import type { WebhookHttpClass } from "../../../generated/webhook-deliveries.ts";
import { listedMode } from "../listed-mode.ts";
import { eventTypeCode, webhookEventTypes } from "../event-types.ts";
import classes from "../integrations.module.css";
import { deliveryStatuses, statusLabel } from "./delivery-status.ts";

const route = getRouteApi("/console/integrations/deliveries");

const statusOptions = deliveryStatuses.map((status) => ({
  value: status.toLowerCase(),
  label: statusLabel(status),
}));
const RESPONSE_LABELS: Readonly<Record<WebhookHttpClass, string>> = {
  HTTP_2XX: "2xx",
  HTTP_3XX: "3xx redirect",
  HTTP_4XX: "4xx",
  HTTP_5XX: "5xx",
  NO_RESPONSE: "No response",
};
const responseOptions = responseClasses.map((one) => ({
  value: one.toLowerCase(),
  label: RESPONSE_LABELS[one],
}));
const PERIOD_LABELS: Readonly<Record<Period, string>> = {
  hour: "Last hour",
  day: "Last 24 hours",
  week: "Last 7 days",
  custom: "Own range",
};
const periodOptions = periods.map((value) => ({ value, label: PERIOD_LABELS[value] }));
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
        aria-keyshortcuts={SEARCH_KEY}
        label="Marking Number"
        value={search.marking_number ?? ""}
        onDebouncedChange={(text) => change({ marking_number: text === "" ? undefined : text })}
        maxLength={120}
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
      <Select
        label="Response"
        placeholder="All"
        data={responseOptions}
        value={search.response ?? null}
        onChange={(response) => change({ response: (response ?? undefined) as DeliveriesSearch["response"] })}
        clearable
      />
      <Select
        label="Created"
        placeholder="Any time"
        data={periodOptions}
        value={search.time ?? null}
        onChange={(time) => change({ time: time ?? undefined, from: undefined, to: undefined })}
        clearable
      />
      {search.time === "custom" && <RangeFields search={search} onChange={change} />}
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

function RangeFields({
  search: { from, to },
  onChange,
}: {
  search: DeliveriesSearch;
  onChange: (part: Partial<DeliveriesSearch>) => void;
}) {
  return (
    <>
      <TextInput
        type="datetime-local"
        label="From"
        value={from ?? ""}
        onChange={({ currentTarget: { value } }) => onChange({ from: value || undefined })}
      />
      <TextInput
        type="datetime-local"
        label="To"
        value={to ?? ""}
        onChange={({ currentTarget: { value } }) => onChange({ to: value || undefined })}
        error={isEmptyRange({ from, to }) && "Must be after From"}
      />
    </>
  );
}
