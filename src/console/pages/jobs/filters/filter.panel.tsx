/** All filters of the jobs table, and its sort order. Changes go to the URL immediately. */
import { MultiSelect, Paper, Select, Text } from "@mantine/core";
import { useSession } from "../../../app/session/session.ts";
import { CATEGORY_LABELS, categoryOptions } from "../job.category.ts";
import { useToday } from "../../../app/session/zone.ts";
import { daysOf, DUE_RULE } from "../job.due.ts";
import {
  CATEGORIES,
  PAGE_SIZES,
  pageSize,
  DEFAULT_SORT,
  NO_CONTRACTOR,
  NO_CONTRACTOR_LABEL,
  PERIODS,
  SORT_LABELS,
  type Category,
  type JobsSearch,
  type Sort,
} from "./jobs.search.ts";
import classes from "../list/jobs.module.css";
import { PERIOD_LABELS } from "./due.presets.tsx";
import { SearchField } from "../../../components/forms/search-field.tsx";
import type { SelectOption, ReferenceData } from "../use-reference-data.ts";

export interface FilterProps {
  search: JobsSearch;
  referenceData: ReferenceData;
  onChange: (change: Partial<JobsSearch>) => void;
}

const noContractor: SelectOption = { value: NO_CONTRACTOR, label: NO_CONTRACTOR_LABEL };

const sortOptions = Object.entries(SORT_LABELS).map(([value, label]) => ({ value, label }));

export function FilterPanel({ search, referenceData, onChange }: FilterProps) {
  return (
    <Paper component="section" id="job-filters" aria-label="Filters" className={classes.panel}>
      <StatusFilters search={search} referenceData={referenceData} onChange={onChange} />
      <OrganizationFilters search={search} referenceData={referenceData} onChange={onChange} />
      <DayFilters search={search} onChange={onChange} />
      <SearchField
        label="Postal code starts with"
        value={search.postal_code ?? ""}
        onDebouncedChange={(text) => onChange({ postal_code: text === "" ? undefined : text })}
      />
      <SearchField
        label="Provider status"
        value={search.provider_status ?? ""}
        onDebouncedChange={(text) => onChange({ provider_status: text === "" ? undefined : text })}
      />
      <Select
        label="Updated in the"
        placeholder="Any time"
        clearable
        clearButtonProps={{ "aria-label": "Clear “Updated in the”" }}
        data={PERIODS.map((value) => ({ value, label: PERIOD_LABELS[value] }))}
        value={search.updated ?? null}
        onChange={(updated) => onChange({ updated: updated ?? undefined })}
      />
      <SortInputs search={search} onChange={onChange} />
      <Text fz="xs" c="dimmed" className={classes.wide}>
        {DUE_RULE}
      </Text>
    </Paper>
  );
}

function DayFilters({ search, onChange }: Pick<FilterProps, "search" | "onChange">) {
  const { due, due_from, due_to, created_from, created_to } = search;
  const today = useToday();
  const [first, last] = due ? daysOf(due, today) : [due_from, due_to];
  // A day replaces a preset, whose other end stays.
  const changeDue = (days: Partial<JobsSearch>): void =>
    onChange({ due: undefined, due_from: first, due_to: last, ...days });
  return (
    <>
      <DayFilter label="Due from" value={first} onChange={(day) => changeDue({ due_from: day })} />
      <DayFilter label="Due until" value={last} onChange={(day) => changeDue({ due_to: day })} />
      <DayFilter
        label="Created from"
        value={created_from}
        onChange={(day) => onChange({ created_from: day })}
      />
      <DayFilter label="Created until" value={created_to} onChange={(day) => onChange({ created_to: day })} />
    </>
  );
}

function SortInputs({ search, onChange }: Pick<FilterProps, "search" | "onChange">) {
  return (
    <>
      <Select
        label="Sort by"
        allowDeselect={false}
        data={sortOptions}
        value={search.sort ?? DEFAULT_SORT}
        onChange={(sort) => onChange({ sort: sort === DEFAULT_SORT ? undefined : (sort as Sort) })}
      />
      <Select
        label="Rows per page"
        allowDeselect={false}
        data={PAGE_SIZES.map((size) => ({ value: String(size), label: String(size) }))}
        value={String(pageSize(search))}
        onChange={(value) => onChange({ size: PAGE_SIZES.find((size) => String(size) === value) })}
      />
    </>
  );
}

function StatusFilters({ search, referenceData, onChange }: FilterProps) {
  const statuses = CATEGORIES.map((category) => ({
    group: CATEGORY_LABELS[category],
    items: referenceData.statuses
      .filter((status) => status.category === category)
      .map(({ code, label }) => ({ value: code, label })),
  }));
  const reasons = referenceData.reasons.map(({ code, label }) => ({ value: code, label }));
  return (
    <>
      <MultiFilter
        label="Category"
        data={categoryOptions}
        value={search.category}
        onChange={(category) => onChange({ category: category as Category[] | undefined })}
      />
      <MultiFilter
        label="Status"
        data={statuses.filter(({ items }) => items.length > 0)}
        value={search.status}
        onChange={(status) => onChange({ status })}
      />
      <MultiFilter
        label="Failure reason"
        data={withUnknown(reasons, search.reason)}
        value={search.reason}
        onChange={(reason) => onChange({ reason })}
      />
    </>
  );
}

function OrganizationFilters({ search, referenceData, onChange }: FilterProps) {
  const ownType = useSession().organization?.type;
  return (
    <>
      {ownType !== "agent" && (
        <MultiFilter
          label="Agent"
          data={withUnknown(referenceData.agents, search.agent)}
          value={search.agent}
          onChange={(agent) => onChange({ agent })}
        />
      )}
      {ownType !== "contractor" && (
        <MultiFilter
          label="Contractor"
          data={withUnknown([noContractor, ...referenceData.contractors], search.contractor)}
          value={search.contractor}
          onChange={(contractor) => onChange({ contractor })}
        />
      )}
    </>
  );
}

/** Adds values from the URL that are not among the options. */
function withUnknown(options: readonly SelectOption[], selected: readonly string[] = []): SelectOption[] {
  const values = new Set(options.map(({ value }) => value));
  return [
    ...options,
    ...selected.filter((value) => !values.has(value)).map((value) => ({ value, label: value })),
  ];
}

interface MultiFilterProps {
  label: string;
  data: SelectOption[] | { group: string; items: SelectOption[] }[];
  value: string[] | undefined;
  onChange: (value: string[] | undefined) => void;
}

function MultiFilter({ label, data, value, onChange }: MultiFilterProps) {
  return (
    <MultiSelect
      label={label}
      placeholder={value === undefined ? "Any" : undefined}
      searchable
      clearable
      clearButtonProps={{ "aria-label": `Clear ${label.toLowerCase()}` }}
      maxValues={50}
      hidePickedOptions
      nothingFoundMessage="No matches"
      data={data}
      value={value ?? []}
      onChange={(values) => onChange(values.length === 0 ? undefined : values)}
    />
  );
}

interface DayFilterProps {
  label: string;
  value: string | undefined;
  onChange: (value: string | undefined) => void;
}

function DayFilter({ label, value = "", onChange }: DayFilterProps) {
  return (
    // Debounced: while a year is typed, the input briefly holds dates such as 0002-01-01.
    <SearchField
      type="date"
      label={label}
      value={value}
      onDebouncedChange={(day) => onChange(day === "" ? undefined : day)}
    />
  );
}
