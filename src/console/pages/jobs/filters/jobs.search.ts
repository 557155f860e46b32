/**
 * The filters, sort order, columns and page of the jobs table in the URL. A saved view is the same without the page.
 */
import {
  dayParam,
  flagParam,
  enumParam,
  enumListParam,
  stringifySearch,
  textParam,
  textListParam,
  typedIdListParam,
  typedIdParam,
  integerParam,
  type RawSearch,
} from "../../../app/search-params.ts";

export const CATEGORIES = ["OPEN", "IN_PROGRESS", "ATTENTION", "SUCCESS", "RETURN", "CANCELLED"] as const;

export type Category = (typeof CATEGORIES)[number];

/** Categories of jobs that are not finished. */
export const UNFINISHED: readonly Category[] = ["OPEN", "IN_PROGRESS", "ATTENTION"];

export const SORT_FIELDS = [
  "created_at",
  "updated_at",
  "due_date",
  "scheduled_date",
  "marking_number",
] as const;
export type SortField = (typeof SORT_FIELDS)[number];
export type Sort = SortField | `-${SortField}`;

export const SORT_LABELS: Record<Sort, string> = {
  "-created_at": "Newest first",
  created_at: "Oldest first",
  "-updated_at": "Recently updated first",
  updated_at: "Least recently updated first",
  due_date: "Earliest due first",
  "-due_date": "Latest due first",
  scheduled_date: "Earliest scheduled date first",
  "-scheduled_date": "Latest scheduled date first",
  marking_number: "Marking Number, A–Z",
  "-marking_number": "Marking Number, Z–A",
};
export const DEFAULT_SORT: Sort = "-created_at";

/** Relative periods, so that a saved view stays correct over time. */
export const PERIODS = ["1h", "24h", "7d", "30d"] as const;
export type Period = (typeof PERIODS)[number];

/** Days relative to today, for the same reason. */
export const DUE_PRESETS = ["yesterday", "today", "tomorrow", "week"] as const;
export type DuePreset = (typeof DUE_PRESETS)[number];

export const PAGE_SIZES = [25, 50, 100] as const;
const DEFAULT_PAGE_SIZE = PAGE_SIZES[0];
const MAX_FILTER_VALUES = 50;
/** A pasted list of some hundred Marking Numbers. A longer URL would not fit into the server's limit for headers. */
const MAX_SEARCH_LENGTH = 12_000;

/** Columns that can be hidden. The Marking Number is always shown. */
export const COLUMNS = [
  "status",
  "failureReason",
  "due",
  "scheduledDate",
  "scheduledDeliveryDate",
  "recipientName",
  "recipientContact",
  "deliveryAddress",
  "postalCode",
  "agent",
  "contractor",
  "batchNumber",
  "groupCode",
  "pieceQuantity",
  "weight",
  "pts",
  "labels",
  "providerStatus",
  "createdAt",
  "updatedAt",
] as const;
export type ColumnId = (typeof COLUMNS)[number];

/** The value of `contractor` for jobs without one. */
export const NO_CONTRACTOR = "none";
export const NO_CONTRACTOR_LABEL = "No contractor";

export interface JobsFilter {
  q?: string | undefined;
  status?: string[] | undefined;
  category?: Category[] | undefined;
  reason?: string[] | undefined;
  due?: DuePreset | undefined;
  due_from?: string | undefined;
  due_to?: string | undefined;
  late?: true | undefined;
  agent?: string[] | undefined;
  /** Ids, or NO_CONTRACTOR. */
  contractor?: string[] | undefined;
  postal_code?: string | undefined;
  provider_status?: string | undefined;
  created_from?: string | undefined;
  created_to?: string | undefined;
  updated?: Period | undefined;
}

export interface JobsSearch extends JobsFilter {
  /** As in REST: a leading `-` means descending. Default: newest first. */
  sort?: Sort | undefined;
  columns?: ColumnId[] | undefined;
  size?: (typeof PAGE_SIZES)[number] | undefined;
  after?: string | undefined;
  before?: string | undefined;
  /** The Marking Number of the job in the panel next to the list. */
  job?: string | undefined;
  /** The saved view whose tab is marked, also after changes. */
  view?: string | undefined;
}

const SORT_VALUES: readonly Sort[] = SORT_FIELDS.flatMap((field) => [field, `-${field}`] as const);

export function parseJobsSearch(search: RawSearch): JobsSearch {
  const sort = enumParam(search["sort"], SORT_VALUES);
  const size = integerParam(search["size"], 1, 100);
  const after = textParam(search["after"], 512);
  const due = enumParam(search["due"], DUE_PRESETS);
  return {
    q: textParam(search["q"], MAX_SEARCH_LENGTH),
    status: textListParam(search["status"], MAX_FILTER_VALUES),
    category: enumListParam(search["category"], CATEGORIES),
    reason: textListParam(search["reason"], MAX_FILTER_VALUES),
    due,
    due_from: due === undefined ? dayParam(search["due_from"]) : undefined,
    due_to: due === undefined ? dayParam(search["due_to"]) : undefined,
    late: flagParam(search["late"]),
    agent: typedIdListParam(search["agent"], "org", MAX_FILTER_VALUES),
    contractor: contractorsParam(search["contractor"]),
    postal_code: textParam(search["postal_code"], 60),
    provider_status: textParam(search["provider_status"], 255),
    created_from: dayParam(search["created_from"]),
    created_to: dayParam(search["created_to"]),
    updated: enumParam(search["updated"], PERIODS),
    sort: sort === DEFAULT_SORT ? undefined : sort,
    columns: parseColumns(search["columns"]),
    size: PAGE_SIZES.find((known) => known === size && known !== DEFAULT_PAGE_SIZE),
    after,
    before: after === undefined ? textParam(search["before"], 512) : undefined,
    job: typeof search["job"] === "string" ? search["job"] : undefined,
    view: typedIdParam(search["view"], "viw"),
  };
}

/** Default values, which `parseJobsSearch` omits. */
export const JOBS_SEARCH_DEFAULTS: RawSearch = { sort: DEFAULT_SORT, size: String(DEFAULT_PAGE_SIZE) };

function contractorsParam(value: unknown): string[] | undefined {
  const list = textListParam(value, MAX_FILTER_VALUES) ?? [];
  return textListParam(
    list.flatMap((one) => (one === NO_CONTRACTOR ? one : (typedIdParam(one, "org") ?? []))),
  );
}

/** In the order of COLUMNS, which is the table's order. */
function parseColumns(value: unknown): ColumnId[] | undefined {
  const requested = enumListParam(value, COLUMNS);
  return requested && COLUMNS.filter((id) => requested.includes(id));
}

const FILTER_NAMES = [
  "q",
  "status",
  "category",
  "reason",
  "due",
  "due_from",
  "due_to",
  "late",
  "agent",
  "contractor",
  "postal_code",
  "provider_status",
  "created_from",
  "created_to",
  "updated",
] as const satisfies readonly (keyof JobsFilter)[];

/** Applies a change and goes back to the first page. */
export function updateSearch(search: JobsSearch, change: Partial<JobsSearch>): JobsSearch {
  const { after: _after, before: _before, ...rest } = search;
  return omitEmpty({ ...rest, ...change });
}

/** Removes all filters, but keeps sort order and columns. */
export function clearFilters(search: JobsSearch): JobsSearch {
  return updateSearch(search, Object.fromEntries(FILTER_NAMES.map((name) => [name, undefined])));
}

export function hasJobFilters(search: JobsSearch): boolean {
  return FILTER_NAMES.some((name) => search[name] !== undefined);
}

export function pageSize(search: JobsSearch): number {
  return search.size ?? DEFAULT_PAGE_SIZE;
}

/** The search without the job next to the list. */
export function withoutJob({ job: _job, ...search }: JobsSearch): JobsSearch {
  return search;
}

/** The normalised query string of a view: equal views have equal strings. */
export function savedViewQuery(search: JobsSearch): string {
  const list = updateSearch(withoutJob(search), { view: undefined });
  return stringifySearch({ ...parseJobsSearch({ ...list }) }).replace(/^\?/, "");
}

function omitEmpty<Search extends JobsSearch>(search: {
  [Name in keyof Search]: Search[Name] | undefined;
}): JobsSearch {
  return Object.fromEntries(
    Object.entries(search).filter(
      ([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0),
    ),
  );
}
