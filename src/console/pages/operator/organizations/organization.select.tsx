/** Selects an organisation by searching for part of its name. */
import { skipToken, useQuery } from "@apollo/client/react";
import { Loader, Select, type SelectProps } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useState } from "react";
import {
  OrganizationChoiceDocument,
  OrganizationChoicesDocument,
  type OrganizationType,
} from "../../../generated/organizations.ts";

type OrganizationSelectProps = Omit<SelectProps, "data" | "value" | "onChange" | "searchValue"> & {
  /** `org_…` */
  value: string | null;
  onChange: (id: string | null) => void;
  type?: OrganizationType;
};

const DEBOUNCE_MS = 250;

export function OrganizationSelect({ value, onChange, type, ...select }: OrganizationSelectProps) {
  const [typed, setTyped] = useState("");
  const [search] = useDebouncedValue(typed.trim(), DEBOUNCE_MS);
  const selected = useSelectedOrganization(value);
  // Mantine puts the selected name into the input; do not search for it.
  const variables = { search: search === "" || search === selected?.label ? undefined : search };
  const { data, previousData, loading } = useQuery(OrganizationChoicesDocument, { variables });
  const matches = ((data ?? previousData)?.organizations?.nodes ?? [])
    .filter((organization) => type === undefined || organization.type === type)
    .map(({ id, name }) => ({ value: id, label: name }));
  const options =
    selected && !matches.some(({ value: id }) => id === selected.value) ? [selected, ...matches] : matches;
  return (
    <Select
      {...select}
      data={options}
      value={value}
      onChange={onChange}
      searchable
      onSearchChange={setTyped}
      // The server does the filtering.
      filter={({ options: all }) => all}
      clearable
      clearButtonProps={{ "aria-label": "Clear" }}
      nothingFoundMessage={loading ? "Searching…" : "No matching organisation"}
      rightSection={loading && typed !== "" ? <Loader size="xs" aria-hidden="true" /> : undefined}
    />
  );
}

/** The selected organisation, which may not be among the search results. */
function useSelectedOrganization(id: string | null): { value: string; label: string } | null {
  const { data } = useQuery(OrganizationChoiceDocument, id === null ? skipToken : { variables: { id } });
  const node = data?.node;
  return id !== null && node && "name" in node ? { value: id, label: node.name } : null;
}
