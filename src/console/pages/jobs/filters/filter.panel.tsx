/** Every way to narrow the table, and its order. What is chosen goes into the address at once. */
import { Checkbox, MultiSelect, Paper, Select } from "@mantine/core";
import { useSession } from "../../../app/session/session.ts";
import { CATEGORY_LABELS, categoryOptions } from "../job.category.ts";
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
  "1h": "the last hour",
  "24h": "the last 24 hours",
  "7d": "the last 7 days",
  "30d": "the last 30 days",
};

const sortOptions: { value: Sort; label: string }[] = [
  { value: "-created_at", label: "Newest first" },
  { value: "created_at", label: "Oldest first" },
  { value: "-updated_at", label: "Last changed first" },
  { value: "updated_at", label: "Longest unchanged first" },
  { value: "scheduled_date", label: "Scheduled earliest first" },
  { value: "-scheduled_date", label: "Scheduled latest first" },
  { value: "marking_number", label: "Marking Number, A to Z" },
  { value: "-marking_number", label: "Marking Number, Z to A" },
];

export function FilterPanel({ search, referenceData, onChange }: FilterProps) {
  return (
    <Paper component="section" id="job-filters" aria-label="Filters" className={classes.panel}>
      <StatusFilters search={search} referenceData={referenceData} onChange={onChange} />
      <OrganizationFilters search={search} referenceData={referenceData} onChange={onChange} />
      <DayFilter label="Due from" value={search.due_from} onChange={(due_from) => onChange({ due_from })} />
      <DayFilter label="Due until" value={search.due_to} onChange={(due_to) => onChange({ due_to })} />
      <SearchField
        label="Postal code begins with"
        value={search.postal_code ?? ""}
        onDebouncedChange={(text) => onChange({ postal_code: text === "" ? undefined : text })}
      />
      <Select
        label="Changed within"
        placeholder="Any time"
        clearable
        clearButtonProps={{ "aria-label": "Clear changed within" }}
        data={PERIODS.map((value) => ({ value, label: PERIOD_LABELS[value] }))}
        value={search.updated ?? null}
        onChange={(updated) => onChange({ updated: updated ?? undefined })}
      />
      <Checkbox
        mt={{ base: 0, xs: 28 }}
        label="Late ones only"
        description="Due before today and not done"
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
        label="Order"
        allowDeselect={false}
        data={sortOptions}
        value={search.sort ?? DEFAULT_SORT}
        onChange={(sort) => onChange({ sort: sort === DEFAULT_SORT ? undefined : (sort as Sort) })}
      />
      <Select
        label="On a page"
        allowDeselect={false}
        data={PAGE_SIZES.map((size) => ({ value: String(size), label: `${size} jobs` }))}
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

/** What somebody's address names is shown, also where the menu does not have it. */
function withUnknown(known: readonly SelectOption[], chosen: readonly string[] = []): SelectOption[] {
  const values = new Set(known.map(({ value }) => value));
  return [
    ...known,
    ...chosen.filter((value) => !values.has(value)).map((value) => ({ value, label: value })),
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
      nothingFoundMessage="Nothing like that"
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
    // Not the address at once: a year that is being typed is a day of the year 2 first, and each step would begin it anew.
    <SearchField
      type="date"
      label={label}
      value={value}
      onDebouncedChange={(day) => onChange(day === "" ? undefined : day)}
    />
  );
}
