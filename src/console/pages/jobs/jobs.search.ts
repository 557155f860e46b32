/** What the address of the table of jobs says: filters, order, columns and place. A view that is kept is the same without its place. */
import {
  day,
  flag,
  oneOf,
  someOf,
  stringifySearch,
  text,
  texts,
  typedIds,
  wholeNumber,
  type RawSearch,
} from "../../app/search.ts";

export const CATEGORIES = ["OPEN", "IN_PROGRESS", "ATTENTION", "SUCCESS", "RETURN", "CANCELLED"] as const;

export type Category = (typeof CATEGORIES)[number];

/** Where somebody still has to do something. */
export const UNFINISHED: readonly Category[] = ["OPEN", "IN_PROGRESS", "ATTENTION"];

export const SORTS = ["created_at", "updated_at", "scheduled_date", "marking_number"] as const;
export type SortField = (typeof SORTS)[number];
export type Sort = SortField | `-${SortField}`;
export const DEFAULT_SORT: Sort = "-created_at";

/** Not an instant but how long ago, so that a kept view stays true. */
export const PERIODS = ["1h", "24h", "7d", "30d"] as const;
export type Period = (typeof PERIODS)[number];

export const PAGE_SIZES = [25, 50, 100] as const;
const DEFAULT_SIZE = PAGE_SIZES[0];
/** What one filter may list. */
const MOST = 50;

/** Those that can be hidden; the Marking Number always stands. */
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

export interface JobsFilter {
  q?: string | undefined;
  status?: string[] | undefined;
  category?: Category[] | undefined;
  reason?: string[] | undefined;
  /** The confirmed date, or else the scheduled one. */
  due_from?: string | undefined;
  due_to?: string | undefined;
  late?: true | undefined;
  agent?: string[] | undefined;
  contractor?: string[] | undefined;
  postal_code?: string | undefined;
  updated?: Period | undefined;
}

export interface JobsSearch extends JobsFilter {
  /** As REST has it: `-` in front for descending. The newest first unless said. */
  sort?: Sort | undefined;
  columns?: ColumnId[] | undefined;
  size?: (typeof PAGE_SIZES)[number] | undefined;
  after?: string | undefined;
  before?: string | undefined;
}

const sorts: readonly Sort[] = SORTS.flatMap((field) => [field, `-${field}`] as const);

export function jobsSearch(search: RawSearch): JobsSearch {
  const sort = oneOf(search["sort"], sorts);
  const size = wholeNumber(search["size"], 1, 100);
  const after = text(search["after"], 512);
  return {
    q: text(search["q"], 255),
    status: texts(search["status"], MOST),
    category: someOf(search["category"], CATEGORIES),
    reason: texts(search["reason"], MOST),
    due_from: day(search["due_from"]),
    due_to: day(search["due_to"]),
    late: flag(search["late"]),
    agent: typedIds(search["agent"], "org", MOST),
    contractor: typedIds(search["contractor"], "org", MOST),
    postal_code: text(search["postal_code"], 60),
    updated: oneOf(search["updated"], PERIODS),
    sort: sort === DEFAULT_SORT ? undefined : sort,
    columns: columnsOf(search["columns"]),
    size: PAGE_SIZES.find((known) => known === size && known !== DEFAULT_SIZE),
    after,
    before: after === undefined ? text(search["before"], 512) : undefined,
  };
}

/** Values that `jobsSearch` leaves out because they apply anyway. */
export const JOBS_DEFAULTS: RawSearch = { sort: DEFAULT_SORT, size: String(DEFAULT_SIZE) };

/** In their own order, which is the table's. */
function columnsOf(value: unknown): ColumnId[] | undefined {
  const given = someOf(value, COLUMNS);
  return given && COLUMNS.filter((id) => given.includes(id));
}

const FILTERS = [
  "q",
  "status",
  "category",
  "reason",
  "due_from",
  "due_to",
  "late",
  "agent",
  "contractor",
  "postal_code",
  "updated",
] as const satisfies readonly (keyof JobsFilter)[];

/** Another filter or order begins at the first page again. */
export function changed(search: JobsSearch, change: Partial<JobsSearch>): JobsSearch {
  const { after: _after, before: _before, ...kept } = search;
  return withoutAbsent({ ...kept, ...change });
}

/** Order and columns stay. */
export function withoutFilters(search: JobsSearch): JobsSearch {
  return changed(search, Object.fromEntries(FILTERS.map((name) => [name, undefined])));
}

export function isFiltered(search: JobsSearch): boolean {
  return FILTERS.some((name) => search[name] !== undefined);
}

export function pageSize(search: JobsSearch): number {
  return search.size ?? DEFAULT_SIZE;
}

/** What is kept of a view: the same for the same view, in whatever order it was put together. */
export function viewQuery(search: JobsSearch): string {
  return stringifySearch({ ...jobsSearch({ ...changed(search, {}) }) }).replace(/^\?/, "");
}

function withoutAbsent<Search extends JobsSearch>(search: {
  [Name in keyof Search]: Search[Name] | undefined;
}): JobsSearch {
  return Object.fromEntries(
    Object.entries(search).filter(
      ([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0),
    ),
  );
}
