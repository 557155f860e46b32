/** Filters of the request log, stored in the URL. */
import { useQuery } from "@apollo/client/react";
import { Select } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";
import { RequestLogKeysDocument } from "../../../generated/request-log.ts";
import { SEARCH_KEY } from "../../../app/interaction/keys.ts";
import { SearchField } from "../../../components/forms/search-field.tsx";
import classes from "../integrations.module.css";
import { requestOutcomeOptions, type RequestsSearch } from "./requests.search.ts";

const route = getRouteApi("/console/integrations/requests");

export function RequestsFilters() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const keys = useKeyOptions(search.key);
  const change = (part: Partial<RequestsSearch>): void =>
    void navigate({ search: (former) => ({ ...former, ...part }), replace: true });
  return (
    <div className={classes.filters} role="search" aria-label="Filter requests">
      <SearchField
        aria-keyshortcuts={SEARCH_KEY}
        label="Request ID"
        placeholder="req_…"
        value={search.request_id ?? ""}
        onDebouncedChange={(text) => change({ request_id: text === "" ? undefined : text })}
        maxLength={64}
      />
      <Select
        label="Outcome"
        placeholder="All"
        data={[...requestOutcomeOptions]}
        value={search.outcome ?? null}
        onChange={(outcome) => change({ outcome: outcome ?? undefined })}
        clearable
      />
      <Select
        label="Key"
        placeholder="All"
        data={keys}
        value={search.key ?? null}
        onChange={(key) => change({ key: key ?? undefined })}
        clearable
        searchable
      />
    </div>
  );
}

/** Includes an unknown key if the URL names one, because its requests may still be in the log. */
function useKeyOptions(selected: string | undefined): { value: string; label: string }[] {
  const { data } = useQuery(RequestLogKeysDocument);
  const options = (data?.apiKeys ?? []).toReversed().map(({ id, name, prefix, revokedAt }) => ({
    value: id,
    label: `${name} (${prefix}…)${revokedAt === null ? "" : ", revoked"}`,
  }));
  const isMissing = selected !== undefined && !options.some(({ value }) => value === selected);
  return isMissing ? [...options, { value: selected, label: selected }] : options;
}
