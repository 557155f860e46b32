/** All filters of the jobs table, and its sort order. Changes go to the URL immediately. */
import { Checkbox, MultiSelect, Paper, Select } from "@mantine/core";
import { useSession } from "../../../app/session/session.ts";
import { CATEGORY_LABELS, categoryOptions } from "../job.category.ts";
import { DUE_RULE } from "../job.due.ts";
import {
  CATEGORIES,
  PAGE_SIZES,
  pageSize,
  DEFAULT_SORT,
  PERIODS,
  type Category,
  type JobsSearch,
  type Period,
  type Sort,
} from "./jobs.search.ts";
import classes from "../list/jobs.module.css";
import { SearchField } from "../../../components/forms/search-field.tsx";
import type { SelectOption, ReferenceData } from "../use-reference-data.ts";

export interface FilterProps {
  search: JobsSearch;
  referenceData: ReferenceData;
  onChange: (change: Partial<JobsSearch>) => void;
}

export const PERIOD_LABELS: Record<Period, string> = {
  "1h": "last hour",
  "24h": "last 24 hours",
  "7d": "last 7 days",
  "30d": "last 30 days",
};

const sortOptions: { value: Sort; label: string }[] = [
  { value: "-created_at", label: "Newest first" },
  { value: "created_at", label: "Oldest first" },
  { value: "-updated_at", label: "Recently updated first" },
  { value: "updated_at", label: "Least recently updated first" },
  { value: "scheduled_date", label: "Earliest scheduled date first" },
  { value: "-scheduled_date", label: "Latest scheduled date first" },
  { value: "marking_number", label: "Marking Number, A–Z" },
  { value: "-marking_number", label: "Marking Number, Z–A" },
];

export function FilterPanel({ search, referenceData, onChange }: FilterProps) {
  return (
    <Paper component="section" id="job-filters" aria-label="Filters" className={classes.panel}>
      <StatusFilters search={search} referenceData={referenceData} onChange={onChange} />
      <OrganizationFilters search={search} referenceData={referenceData} onChange={onChange} />
      <DayFilter label="Due from" value={search.due_from} onChange={(due_from) => onChange({ due_from })} />
      <DayFilter label="Due until" value={search.due_to} onChange={(due_to) => onChange({ due_to })} />
      <SearchField
        label="Postal code starts with"
        value={search.postal_code ?? ""}
        onDebouncedChange={(text) => onChange({ postal_code: text === "" ? undefined : text })}
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
      <Checkbox
        mt={{ base: 0, xs: 28 }}
        label="Late only"
        description={DUE_RULE}
        checked={search.late === true}
        onChange={({ currentTarget }) => onChange({ late: currentTarget.checked ? true : undefined })}
      />
      <SortInputs search={search} onChange={onChange} />
    </Paper>
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
          data={withUnknown(referenceData.contractors, search.contractor)}
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
