/** Lists the jobs visible to a principal: one page per statement, from a cursor position or at an offset. */
import type { Queryable } from "../../core/postgres/database.ts";
import { invariant } from "../../core/errors.ts";
import type { Principal } from "../../core/principal.ts";
import { join, raw, sql, type Sql } from "../../core/postgres/sql.ts";
import { counterRowsSql } from "../counters/counters.sql.ts";
import { withOrganizationNames } from "../organization-names.sql.ts";
import { jobColumns, type JobRow } from "../row.sql.ts";
import { visibleTo } from "../visibility.sql.ts";
import type { JobOrder, JobOrderField } from "./cursor.ts";
import {
  filterableColumns,
  filterToSql,
  isStatusOnly,
  setKeys,
  statusScope,
  type JobFilterTree,
  type RangeComparison,
} from "./filter.sql.ts";
import { keysetScan, offsetScan, type KeysetPage, type OffsetPage, type Scan } from "./scan.sql.ts";

export interface JobListQuery {
  filter: JobFilterTree;
  order: JobOrder;
  page: KeysetPage | OffsetPage;
  include: {
    items: boolean;
    /** A page by offset needs the total. */
    total: boolean;
    /** Joins with `job` and the columns they add to each row, for other features. */
    extraJoins?: { columns: Sql; joins: Sql } | undefined;
  };
}

export interface JobListPage {
  items: JobRow[];
  /** Exact in the page's direction. In the other direction: true if the page started at a position. */
  hasNext: boolean;
  hasPrevious: boolean;
  /** The exact number of matching jobs on all pages; null unless requested. */
  total: number | null;
}

type Row = JobRow & { total?: number };

export async function listJobs(
  queryable: Queryable,
  principal: Principal,
  query: JobListQuery,
): Promise<JobListPage> {
  const { filter, page, include } = query;
  const rows = include.items ? await queryable.query<Row>(pageStatement(principal, query)) : [];
  // An empty page has no row that could hold the total, which is 0 only if the page is the first.
  const isEmptyList = include.items && !("offset" in page ? page.offset : page.position);
  const countWithoutRows = () => (isEmptyList ? 0 : countJobs(queryable, principal, filter));
  const total = include.total ? (rows[0]?.total ?? (await countWithoutRows())) : null;
  const items = await withOrganizationNames(queryable, rows.slice(0, page.limit));
  if (!include.items) return { items, hasNext: false, hasPrevious: false, total };
  if ("offset" in page) {
    const hasNext = items.length > 0 && page.offset + items.length < (total ?? 0);
    return { items, hasNext, hasPrevious: page.offset > 0, total };
  }
  const hasMoreAhead = rows.length > page.limit;
  const hasMoreBehind = page.position !== null;
  return page.direction === "forward"
    ? { items, hasNext: hasMoreAhead, hasPrevious: hasMoreBehind, total }
    : { items: items.toReversed(), hasNext: hasMoreBehind, hasPrevious: hasMoreAhead, total };
}

async function countJobs(queryable: Queryable, principal: Principal, filter: JobFilterTree): Promise<number> {
  const [row] = await queryable.query<{ total: number }>(sql`select ${totalSql(principal, filter)} as total`);
  return row?.total ?? 0;
}

function pageStatement(principal: Principal, query: JobListQuery): Sql {
  const { filter, order, page, include } = query;
  invariant(Number.isInteger(page.limit) && page.limit > 0, "the page size is a positive integer");
  const scan =
    "offset" in page
      ? offsetScan(order, page, setKeys(filter).length === 0 ? principal.organizationId : null)
      : keysetScan(order, page);
  const source = pageSource(principal, query, scan);
  const { extraJoins } = include;
  const pageRows = source.idsOnly
    ? sql`select job.* from (${source.rows}) page join job using (id)`
    : source.rows;
  return sql`${source.withClause ?? scan.withClause} select ${jobColumns("job.")}
      ${extraJoins ? sql`, ${extraJoins.columns}` : raw("")}
      ${include.total ? sql`, ${source.total ?? totalSql(principal, filter)} as total` : raw("")}
    from (${pageRows}) job ${extraJoins?.joins ?? raw("")} ${scan.order}`;
}

interface PageSource {
  /** The CTEs that `rows` reads from. Default: the scan's. */
  withClause?: Sql;
  /** The rows of the scan's window. With `idsOnly` they have only the id and the order column. */
  rows: Sql;
  idsOnly: boolean;
  total?: Sql;
}

function pageSource(principal: Principal, { filter, order, page }: JobListQuery, scan: Scan): PageSource {
  const { field } = order;
  const isKeyset = "position" in page;
  const matching = sql`${visibleTo(principal)} and ${filterToSql(filter, principal)}`;
  const isDue = field === "due_date";
  const key = raw(`job.id, job.${isDue ? "scheduled_delivery_date, job.scheduled_date" : field}`);
  const scope = principal.organizationId === null ? organizationScope(filter) : null;
  const isSearch = field !== "id" && Boolean(filter.search);
  if (isSearch || isDue || isRangeOnOtherColumn(filter, field)) {
    // Reads the ids from the index of the range or the search first and then sorts them. Otherwise the planner would scan the
    // index of the order and discard all other rows. No index has the due date, because each change of a date would write it.
    const from = scope && !isSearch ? sql`${scope.organizations} join job on ${scope.isItsJob}` : raw("job");
    return {
      withClause: sql`with matching as materialized (select ${key} from ${from} where ${matching})`,
      rows: unionSegments(scan, (segment) => sql`select ${key} from matching job where ${segment}`),
      idsOnly: true,
      total: sql`(select count(*)::int from matching)`,
    };
  }
  const startsWithOrganization = field !== "marking_number" && field !== "id";
  const statuses = field === "created_at" ? statusScope(filter) : null;
  if (scope ? isKeyset && startsWithOrganization : statuses) {
    // Their indexes start with an organisation, and one has the status next. Read the first rows of each organisation, for operators,
    // and of each status, and merge them. Otherwise the scan would discard all rows of other statuses.
    const parts = [
      ...(scope ? [{ from: scope.organizations, condition: scope.isItsJob }] : []),
      ...(statuses ? [{ from: statuses, condition: raw("job.normalized_status = status.code") }] : []),
    ];
    const conditions = join([...parts.map(({ condition }) => condition), matching], " and ");
    const from = join(
      parts.map((part) => part.from),
      " cross join ",
    );
    const firstRows = (segment: Sql): Sql =>
      sql`select ${key} from job where ${conditions} and ${segment} ${scan.segmentOrder} ${scan.reach}`;
    const rows = unionSegments(
      scan,
      (segment) => sql`select ${key} from ${from} cross join lateral (${firstRows(segment)}) job`,
    );
    return { rows, idsOnly: true };
  }
  if (isKeyset && !scope && field === "marking_number")
    return markingNumberScan(scan, matching, page.limit + 1);
  const columns = scan.isDeep ? key : raw("job.*");
  return {
    rows: unionSegments(scan, (segment) => sql`select ${columns} from job where ${matching} and ${segment}`),
    idsOnly: scan.isDeep,
  };
}

/** Rows of all organisations to scan by Marking Number before falling back to all matching rows. */
const SCAN_LIMIT = 2_000;

/**
 * A page in Marking Number order, whose index does not start with an organisation. Scans up to SCAN_LIMIT rows of all
 * organisations; if too few match, it collects and sorts all matching rows. Another index would slow down every update.
 */
function markingNumberScan(
  { segments, segmentOrder, order, window }: Scan,
  matching: Sql,
  size: number,
): PageSource {
  const afterPosition = join(segments, " and ");
  const isPageFull = raw(`(select count(*) from scanned) = ${size}`);
  return {
    withClause: sql`with scanned as materialized (
        select job.id, job.marking_number from (
          select * from job where ${afterPosition} ${segmentOrder} limit ${raw(String(SCAN_LIMIT))}
        ) job where ${matching} ${segmentOrder} ${window}
      ), all_matching as materialized (
        select job.id, job.marking_number from job where not ${isPageFull} and ${matching} and ${afterPosition}
      )`,
    rows: sql`select * from (
        select * from scanned where ${isPageFull} union all select * from all_matching
      ) job ${order} ${window}`,
    idsOnly: true,
  };
}

function unionSegments({ segments, segmentOrder, order, window }: Scan, select: (segment: Sql) => Sql): Sql {
  const parts = segments.map((segment) => sql`(${select(segment)} ${segmentOrder} ${window})`);
  return parts.length === 1
    ? join(parts, "")
    : sql`select * from (${join(parts, " union all ")}) job ${order} ${window}`;
}

/** Organisations that partition the matching jobs: every job has one agent and at most one contractor. */
function organizationScope({ agentId, contractorId }: JobFilterTree): { organizations: Sql; isItsJob: Sql } {
  if (contractorId)
    return { organizations: organizationsIn(contractorId), isItsJob: raw("job.contractor_id = scope.id") };
  return {
    organizations: agentId ? organizationsIn(agentId) : raw("organization scope"),
    isItsJob: raw("job.agent_id = scope.id"),
  };
}

function organizationsIn(ids: readonly string[]): Sql {
  return sql`(select id from organization where id = any(${ids}::uuid[])) scope`;
}

const orderedKeys = ["createdAt", "updatedAt", "scheduledDate"] as const;

/** True if the filter has ranges, all of them on other columns than the order's. */
function isRangeOnOtherColumn(filter: JobFilterTree, field: JobOrderField): boolean {
  const ranged = orderedKeys.filter((key) => isBounded(filter[key]));
  return (
    field !== "id" && ranged.length > 0 && ranged.every((key) => filterableColumns[key].column !== field)
  );
}

function isBounded(range: RangeComparison<string> | null | undefined): boolean {
  const { eq, gte, gt, lte, lt } = range ?? {};
  return (eq ?? gte ?? gt ?? lte ?? lt ?? null) !== null;
}

/** The exact number of matching jobs, from the counters if they hold it. */
function totalSql(principal: Principal, filter: JobFilterTree): Sql {
  if (!isStatusOnly(filter) || principal.organizationId === null) {
    return sql`(select count(*)::int from job where ${visibleTo(principal)} and ${filterToSql(filter, principal)})`;
  }
  return sql`(select coalesce(sum(counted), 0)::int
    from (select value as normalized_status, counted from (${counterRowsSql(principal.organizationId, "status")}) counts) job
    where ${filterToSql(filter)})`;
}
