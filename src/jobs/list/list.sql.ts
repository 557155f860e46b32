/** One page of the jobs that somebody sees, walked either way from a place in the list, in one statement. */
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
  /** Backward: the last items before `position`, or of the list. They come in the list's order all the same. */
  page: { direction: "forward" | "backward"; limit: number; position: JobPosition | null };
  include: {
    items: boolean;
    /** Each job's agent and contractor. */
    organizations: boolean;
    total: boolean;
    /** What another feature reads beside each job: joins on `job`, and their columns. */
    beside?: { columns: Sql; joins: Sql } | undefined;
  };
}

export interface JobListPage {
  items: JobWithOrganizations[];
  /** Exact the way that the page was walked; the other way, whether it began at a place. */
  hasNext: boolean;
  hasPrevious: boolean;
  /** All jobs that match, on whatever page: exact. Null where it was not asked for. */
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
  // Beside a total an empty page is one row without a job.
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
  invariant(Number.isInteger(page.limit) && page.limit > 0, "a page has a whole number of items");
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

function selectColumns({ organizations, beside: extraJoins }: JobListQuery["include"]): {
  columns: Sql;
  joins: Sql;
} {
  const { columns, joins } = jobJoinColumns(organizations);
  if (!extraJoins) return { columns, joins };
  return { columns: sql`${columns}, ${extraJoins.columns}`, joins: sql`${joins} ${extraJoins.joins}` };
}

interface PageSource {
  /** A `with` that `rows` reads from. */
  withClause: Sql;
  /** The page's rows, and one more where there are more; only their ids and order where `ids` is set. */
  rows: Sql;
  idsOnly: boolean;
  total?: Sql;
}

interface PageSearch {
  filter: JobFilterTree;
  field: JobOrderField;
  scan: KeysetScan;
  /** Rows wanted. */
  limit: number;
}

function pageSource(principal: Principal, { filter, field, scan, limit: rowLimit }: PageSearch): PageSource {
  // A literal: as a value it would not be known to a plan that serves many, which would then be made for long pages.
  const limit = raw(`limit ${rowLimit}`);
  const matching = sql`${visibleTo(principal)} and ${filterToSql(filter)}`;
  const key = raw(`job.id, job.${field}`);
  const unionOf = (select: (segment: Sql) => Sql): Sql => unionSegments(scan, limit, select);
  const scope = principal.organizationId === null ? organizationScope(filter) : null;
  if (isRangeOnOtherColumn(filter, field)) {
    // The ids of a range are gathered from the range's own index first, and ordered then. Left to itself the planner
    // would walk the order's index and throw away what is outside the range.
    const from = scope ? sql`${scope.organizations} join job on ${scope.isItsJob}` : raw("job");
    return {
      withClause: sql`with matching as materialized (select ${key} from ${from} where ${matching})`,
      rows: unionOf((piece) => sql`select ${key} from matching job where ${piece}`),
      idsOnly: true,
      total: sql`(select count(*)::int from matching)`,
    };
  }
  if (scope && field !== "marking_number") {
    // Indexes lead with an organisation: for those who see all jobs, each one's first are found by them, and merged.
    const first = (piece: Sql): Sql =>
      sql`select ${key} from job where ${scope.isItsJob} and ${matching} and ${piece} ${scan.segmentOrder} ${limit}`;
    const rows = unionOf(
      (piece) => sql`select ${key} from ${scope.organizations} cross join lateral (${first(piece)}) job`,
    );
    return { withClause: raw(""), rows, idsOnly: true };
  }
  if (!scope && field === "marking_number") return markingNumberScan(scan, matching, rowLimit);
  return {
    withClause: raw(""),
    rows: unionOf((piece) => sql`select job.* from job where ${matching} and ${piece}`),
    idsOnly: false,
  };
}

/** Marking Numbers of all organisations that are looked through for one's own before these are gathered by themselves. */
const SCAN_LIMIT = 2_000;

/**
 * In the order of Marking Numbers, whose index leads with no organisation: from the place on among everybody's, or, where
 * too few of them match, from all that match. An index by organisation would be paid for by every update.
 */
function markingNumberScan(
  { segments, segmentOrder, order }: KeysetScan,
  matching: Sql,
  size: number,
): PageSource {
  const afterPosition = join(segments, " and ");
  const limit = raw(`limit ${size}`);
  const isNear = raw(`(select count(*) from near) = ${size}`);
  return {
    withClause: sql`with near as materialized (
        select job.id, job.marking_number from (
          select * from job where ${afterPosition} ${segmentOrder} limit ${raw(String(SCAN_LIMIT))}
        ) job where ${matching} ${segmentOrder} ${limit}
      ), far as materialized (
        select job.id, job.marking_number from job where not ${isNear} and ${matching} and ${afterPosition}
      )`,
    rows: sql`select * from (select * from near where ${isNear} union all select * from far) job ${order} ${limit}`,
    idsOnly: true,
  };
}

function unionSegments(
  { segments, segmentOrder, order }: KeysetScan,
  limit: Sql,
  select: (segment: Sql) => Sql,
): Sql {
  const parts = segments.map((piece) => sql`(${select(piece)} ${segmentOrder} ${limit})`);
  return parts.length === 1
    ? join(parts, "")
    : sql`select * from (${join(parts, " union all ")}) job ${order} ${limit}`;
}

/** Organisations such that each matching job is one's: every job has one agent, and at most one contractor. */
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

/** Whether dates are asked for that another index holds than the one that gives the order. */
function isRangeOnOtherColumn(filter: JobFilterTree, field: JobOrderField): boolean {
  const ranged = (Object.keys(orderedColumns) as (keyof typeof orderedColumns)[]).filter((key) =>
    isBounded(filter[key]),
  );
  return ranged.length > 0 && ranged.every((part) => orderedColumns[part] !== field);
}

function isBounded(range: RangeComparison<string> | null | undefined): boolean {
  const { eq, gte, gt, lte, lt } = range ?? {};
  return (eq ?? gte ?? gt ?? lte ?? lt ?? null) !== null;
}

/** The exact number of matching jobs: from the counters where they know it, else counted. */
function totalSql(principal: Principal, filter: JobFilterTree): Sql {
  const status = singleStatus(filter);
  if (status === undefined || principal.organizationId === null) {
    return sql`(select count(*)::int from job where ${visibleTo(principal)} and ${filterToSql(filter)})`;
  }
  const ofStatus = status === null ? raw("") : sql`where value = ${status}`;
  return sql`(select coalesce(sum(counted), 0)::int
    from (${counterRowsSql(principal.organizationId, "status")}) counts ${ofStatus})`;
}
