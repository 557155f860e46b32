/** Lists the jobs visible to a principal, one page per statement, forward or backward from a cursor position. */
import type { Queryable } from "../../platform/postgres/database.ts";
import { invariant } from "../../platform/errors.ts";
import type { Principal } from "../../platform/principal.ts";
import { join, raw, sql, type Sql } from "../../platform/postgres/sql.ts";
import { filterToSql, singleStatus, type JobFilterTree, type RangeComparison } from "./filter.ts";
import { counterRowsSql } from "../counters/counters.ts";
import type { JobPosition } from "./list-parameters.ts";
import { keysetScan, type JobOrder, type JobOrderField, type KeysetScan } from "./order.ts";
import {
  jobJoinColumns,
  toJobWithOrganizations,
  type JobJoinRow,
  type JobWithOrganizations,
} from "../job.row.ts";
import { visibleTo } from "../job.visibility.ts";

export interface JobListQuery {
  filter: JobFilterTree;
  order: JobOrder;
  /** Backward: the last items before `position`, or of the whole list. Items are always in the list's order. */
  page: { direction: "forward" | "backward"; limit: number; position: JobPosition | null };
  include: {
    items: boolean;
    /** Each job's agent and contractor. */
    organizations: boolean;
    total: boolean;
    /** Joins with `job` and the columns they add to each row, for other features. */
    extraJoins?: { columns: Sql; joins: Sql } | undefined;
  };
}

export interface JobListPage {
  items: JobWithOrganizations[];
  /** Exact in the page's direction. In the other direction: true if the page started at a position. */
  hasNext: boolean;
  hasPrevious: boolean;
  /** The exact number of matching jobs on all pages; null unless requested. */
  total: number | null;
}

type Row = JobJoinRow & { total?: number };

export async function listJobs(
  queryable: Queryable,
  principal: Principal,
  query: JobListQuery,
): Promise<JobListPage> {
  const { page, include } = query;
  if (!include.items) {
    const total = include.total ? await countJobs(queryable, principal, query.filter) : null;
    return { items: [], hasNext: false, hasPrevious: false, total };
  }
  const rows = await queryable.query<Row>(pageStatement(principal, query));
  const total = include.total ? (rows[0]?.total ?? 0) : null;
  // With a total, an empty page is one row without a job.
  const rowsWithJob = rows.filter((row) => (row.id as string | null) !== null);
  const items = rowsWithJob.slice(0, page.limit).map(toJobWithOrganizations);
  const hasMoreAhead = rowsWithJob.length > page.limit;
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
  const scan = keysetScan(order, page.direction === "backward", page.position);
  invariant(Number.isInteger(page.limit) && page.limit > 0, "the page size is a positive integer");
  const source = pageSource(principal, { filter, field: order.field, scan, limit: page.limit + 1 });
  const { columns, joins } = selectColumns(include);
  const pageRows = source.idsOnly
    ? sql`(select job.* from (${source.rows}) page join job using (id))`
    : sql`(${source.rows})`;
  if (!include.total)
    return sql`${source.withClause} select ${columns} from ${pageRows} job ${joins} ${scan.order}`;
  const total = source.total ?? totalSql(principal, filter);
  return sql`${source.withClause} select ${columns}, counted.total
    from (select ${total} as total) counted left join ${pageRows} job on true ${joins} ${scan.order}`;
}

function selectColumns({ organizations, extraJoins }: JobListQuery["include"]): {
  columns: Sql;
  joins: Sql;
} {
  const { columns, joins } = jobJoinColumns(organizations);
  if (!extraJoins) return { columns, joins };
  return { columns: sql`${columns}, ${extraJoins.columns}`, joins: sql`${joins} ${extraJoins.joins}` };
}

interface PageSource {
  /** The CTEs that `rows` reads from. */
  withClause: Sql;
  /** The page's rows plus one if there are more. With `idsOnly` they have only the id and the order column. */
  rows: Sql;
  idsOnly: boolean;
  total?: Sql;
}

interface PageSearch {
  filter: JobFilterTree;
  field: JobOrderField;
  scan: KeysetScan;
  limit: number;
}

function pageSource(principal: Principal, { filter, field, scan, limit: rowLimit }: PageSearch): PageSource {
  // A literal, because a generic plan does not know a parameter's value and would assume a long page.
  const limit = raw(`limit ${rowLimit}`);
  const matching = sql`${visibleTo(principal)} and ${filterToSql(filter)}`;
  const key = raw(`job.id, job.${field}`);
  const unionOf = (select: (segment: Sql) => Sql): Sql => unionSegments(scan, limit, select);
  const scope = principal.organizationId === null ? organizationScope(filter) : null;
  if (isRangeOnOtherColumn(filter, field)) {
    // Reads the ids from the range's index first and then sorts them. Otherwise the planner would scan the index
    // of the order and discard all rows outside the range.
    const from = scope ? sql`${scope.organizations} join job on ${scope.isItsJob}` : raw("job");
    return {
      withClause: sql`with matching as materialized (select ${key} from ${from} where ${matching})`,
      rows: unionOf((segment) => sql`select ${key} from matching job where ${segment}`),
      idsOnly: true,
      total: sql`(select count(*)::int from matching)`,
    };
  }
  if (scope && field !== "marking_number") {
    // Indexes start with an organisation. For operators, read the first rows of each organisation and merge them.
    const firstRows = (segment: Sql): Sql =>
      sql`select ${key} from job where ${scope.isItsJob} and ${matching} and ${segment} ${scan.segmentOrder} ${limit}`;
    const rows = unionOf(
      (segment) =>
        sql`select ${key} from ${scope.organizations} cross join lateral (${firstRows(segment)}) job`,
    );
    return { withClause: raw(""), rows, idsOnly: true };
  }
  if (!scope && field === "marking_number") return markingNumberScan(scan, matching, rowLimit);
  return {
    withClause: raw(""),
    rows: unionOf((segment) => sql`select job.* from job where ${matching} and ${segment}`),
    idsOnly: false,
  };
}

/** Rows of all organisations to scan by Marking Number before falling back to all matching rows. */
const SCAN_LIMIT = 2_000;

/**
 * A page in Marking Number order, whose index does not start with an organisation. Scans up to SCAN_LIMIT rows of all
 * organisations; if too few match, it collects and sorts all matching rows. Another index would slow down every update.
 */
function markingNumberScan(
  { segments, segmentOrder, order }: KeysetScan,
  matching: Sql,
  size: number,
): PageSource {
  const afterPosition = join(segments, " and ");
  const limit = raw(`limit ${size}`);
  const isPageFull = raw(`(select count(*) from scanned) = ${size}`);
  return {
    withClause: sql`with scanned as materialized (
        select job.id, job.marking_number from (
          select * from job where ${afterPosition} ${segmentOrder} limit ${raw(String(SCAN_LIMIT))}
        ) job where ${matching} ${segmentOrder} ${limit}
      ), all_matching as materialized (
        select job.id, job.marking_number from job where not ${isPageFull} and ${matching} and ${afterPosition}
      )`,
    rows: sql`select * from (
        select * from scanned where ${isPageFull} union all select * from all_matching
      ) job ${order} ${limit}`,
    idsOnly: true,
  };
}

function unionSegments(
  { segments, segmentOrder, order }: KeysetScan,
  limit: Sql,
  select: (segment: Sql) => Sql,
): Sql {
  const parts = segments.map((segment) => sql`(${select(segment)} ${segmentOrder} ${limit})`);
  return parts.length === 1
    ? join(parts, "")
    : sql`select * from (${join(parts, " union all ")}) job ${order} ${limit}`;
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

const orderedColumns = {
  createdAt: "created_at",
  updatedAt: "updated_at",
  scheduledDate: "scheduled_date",
} as const;

/** True if the filter has ranges, all of them on other columns than the order's. */
function isRangeOnOtherColumn(filter: JobFilterTree, field: JobOrderField): boolean {
  const ranged = (Object.keys(orderedColumns) as (keyof typeof orderedColumns)[]).filter((key) =>
    isBounded(filter[key]),
  );
  return ranged.length > 0 && ranged.every((key) => orderedColumns[key] !== field);
}

function isBounded(range: RangeComparison<string> | null | undefined): boolean {
  const { eq, gte, gt, lte, lt } = range ?? {};
  return (eq ?? gte ?? gt ?? lte ?? lt ?? null) !== null;
}

/** The exact number of matching jobs, from the counters if they hold it. */
function totalSql(principal: Principal, filter: JobFilterTree): Sql {
  const status = singleStatus(filter);
  if (status === undefined || principal.organizationId === null) {
    return sql`(select count(*)::int from job where ${visibleTo(principal)} and ${filterToSql(filter)})`;
  }
  const statusCondition = status === null ? raw("") : sql`where value = ${status}`;
  return sql`(select coalesce(sum(counted), 0)::int
    from (${counterRowsSql(principal.organizationId, "status")}) counts ${statusCondition})`;
}
