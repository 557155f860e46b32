/** One page of the jobs that somebody sees, walked either way from a place in the list, in one statement. */
import type { Queryable } from "../platform/database.ts";
import { invariant } from "../platform/errors.ts";
import type { Viewer } from "../platform/principal.ts";
import { join, raw, sql, type Sql } from "../platform/sql.ts";
import { conditionSql, statusAlone, type JobCondition, type RangeCondition } from "./job.condition.ts";
import { countsOf } from "./job.counts.ts";
import type { JobPosition } from "./job.filter.ts";
import { walk, type JobOrder, type JobOrderField, type JobWalk } from "./job.order.ts";
import { readJobColumns, toReadJobRow, type FlatJobRow, type ReadJobRow } from "./job.row.ts";
import { visibleTo } from "./job.visibility.ts";

export interface JobConnectionQuery {
  condition: JobCondition;
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

export interface JobConnectionPage {
  items: ReadJobRow[];
  /** Exact the way that the page was walked; the other way, whether it began at a place. */
  hasNext: boolean;
  hasPrevious: boolean;
  /** All jobs that match, on whatever page: exact. Null where it was not asked for. */
  total: number | null;
}

type Row = FlatJobRow & { total?: number };

export async function pageOfJobs(
  queryable: Queryable,
  viewer: Viewer,
  query: JobConnectionQuery,
): Promise<JobConnectionPage> {
  const { page, include } = query;
  if (!include.items) {
    const total = include.total ? await countJobs(queryable, viewer, query.condition) : null;
    return { items: [], hasNext: false, hasPrevious: false, total };
  }
  const rows = await queryable.query<Row>(pageStatement(viewer, query));
  const total = include.total ? (rows[0]?.total ?? 0) : null;
  // Beside a total an empty page is one row without a job.
  const found = rows.filter((row) => (row.id as string | null) !== null);
  const items = found.slice(0, page.limit).map(toReadJobRow);
  const ahead = found.length > page.limit;
  const behind = page.position !== null;
  return page.direction === "forward"
    ? { items, hasNext: ahead, hasPrevious: behind, total }
    : { items: items.toReversed(), hasNext: behind, hasPrevious: ahead, total };
}

async function countJobs(queryable: Queryable, viewer: Viewer, condition: JobCondition): Promise<number> {
  const [row] = await queryable.query<{ total: number }>(sql`select ${totalOf(viewer, condition)} as total`);
  return row?.total ?? 0;
}

function pageStatement(viewer: Viewer, query: JobConnectionQuery): Sql {
  const { condition, order, page, include } = query;
  const way = walk(order, page.direction === "backward", page.position);
  invariant(Number.isInteger(page.limit) && page.limit > 0, "a page has a whole number of items");
  const candidates = candidatesOf(viewer, { condition, field: order.field, way, size: page.limit + 1 });
  const { columns, joins } = columnsOf(include);
  const found = candidates.ids
    ? sql`(select job.* from (${candidates.rows}) page join job using (id))`
    : sql`(${candidates.rows})`;
  if (!include.total)
    return sql`${candidates.before} select ${columns} from ${found} job ${joins} ${way.order}`;
  const total = candidates.total ?? totalOf(viewer, condition);
  return sql`${candidates.before} select ${columns}, counted.total
    from (select ${total} as total) counted left join ${found} job on true ${joins} ${way.order}`;
}

function columnsOf({ organizations, beside }: JobConnectionQuery["include"]): { columns: Sql; joins: Sql } {
  const { columns, joins } = readJobColumns(organizations);
  if (!beside) return { columns, joins };
  return { columns: sql`${columns}, ${beside.columns}`, joins: sql`${joins} ${beside.joins}` };
}

interface Candidates {
  /** A `with` that `rows` reads from. */
  before: Sql;
  /** The page's rows, and one more where there are more; only their ids and order where `ids` is set. */
  rows: Sql;
  ids: boolean;
  total?: Sql;
}

interface Search {
  condition: JobCondition;
  field: JobOrderField;
  way: JobWalk;
  /** Rows wanted. */
  size: number;
}

function candidatesOf(viewer: Viewer, { condition, field, way, size }: Search): Candidates {
  // A literal: as a value it would not be known to a plan that serves many, which would then be made for long pages.
  const limit = raw(`limit ${size}`);
  const matching = sql`${visibleTo(viewer)} and ${conditionSql(condition)}`;
  const key = raw(`job.id, job.${field}`);
  const rowsOf = (select: (piece: Sql) => Sql): Sql => mergedPieces(way, limit, select);
  const scope = viewer.organizationId === null ? scopeOf(condition) : null;
  if (isRangeBeside(condition, field)) {
    // The ids of a range are gathered from the range's own index first, and ordered then. Left to itself the planner
    // would walk the order's index and throw away what is outside the range.
    const from = scope ? sql`${scope.organizations} join job on ${scope.isItsJob}` : raw("job");
    return {
      before: sql`with matching as materialized (select ${key} from ${from} where ${matching})`,
      rows: rowsOf((piece) => sql`select ${key} from matching job where ${piece}`),
      ids: true,
      total: sql`(select count(*)::int from matching)`,
    };
  }
  if (scope && field !== "marking_number") {
    // Indexes lead with an organisation: for those who see all jobs, each one's first are found by them, and merged.
    const first = (piece: Sql): Sql =>
      sql`select ${key} from job where ${scope.isItsJob} and ${matching} and ${piece} ${way.pieceOrder} ${limit}`;
    const rows = rowsOf(
      (piece) => sql`select ${key} from ${scope.organizations} cross join lateral (${first(piece)}) job`,
    );
    return { before: raw(""), rows, ids: true };
  }
  if (!scope && field === "marking_number") return nearOrFar(way, matching, size);
  return {
    before: raw(""),
    rows: rowsOf((piece) => sql`select job.* from job where ${matching} and ${piece}`),
    ids: false,
  };
}

/** Marking Numbers of all organisations that are looked through for one's own before these are gathered by themselves. */
const NEAR = 2_000;

/**
 * In the order of Marking Numbers, whose index leads with no organisation: from the place on among everybody's, or, where
 * too few of them match, from all that match. An index by organisation would be paid for by every update.
 */
function nearOrFar({ pieces, pieceOrder, order }: JobWalk, matching: Sql, size: number): Candidates {
  const place = join(pieces, " and ");
  const limit = raw(`limit ${size}`);
  const isNear = raw(`(select count(*) from near) = ${size}`);
  return {
    before: sql`with near as materialized (
        select job.id, job.marking_number from (
          select * from job where ${place} ${pieceOrder} limit ${raw(String(NEAR))}
        ) job where ${matching} ${pieceOrder} ${limit}
      ), far as materialized (
        select job.id, job.marking_number from job where not ${isNear} and ${matching} and ${place}
      )`,
    rows: sql`select * from (select * from near where ${isNear} union all select * from far) job ${order} ${limit}`,
    ids: true,
  };
}

function mergedPieces({ pieces, pieceOrder, order }: JobWalk, limit: Sql, select: (piece: Sql) => Sql): Sql {
  const parts = pieces.map((piece) => sql`(${select(piece)} ${pieceOrder} ${limit})`);
  return parts.length === 1
    ? join(parts, "")
    : sql`select * from (${join(parts, " union all ")}) job ${order} ${limit}`;
}

/** Organisations such that each matching job is one's: every job has one agent, and at most one contractor. */
function scopeOf({ agentId, contractorId }: JobCondition): { organizations: Sql; isItsJob: Sql } {
  if (contractorId)
    return { organizations: among(contractorId), isItsJob: raw("job.contractor_id = scope.id") };
  return {
    organizations: agentId ? among(agentId) : raw("organization scope"),
    isItsJob: raw("job.agent_id = scope.id"),
  };
}

function among(ids: readonly string[]): Sql {
  return sql`(select id from organization where id = any(${ids}::uuid[])) scope`;
}

const orderedParts = {
  createdAt: "created_at",
  updatedAt: "updated_at",
  scheduledDate: "scheduled_date",
} as const;

/** Whether dates are asked for that another index holds than the one that gives the order. */
function isRangeBeside(condition: JobCondition, field: JobOrderField): boolean {
  const ranged = (Object.keys(orderedParts) as (keyof typeof orderedParts)[]).filter((part) =>
    isBounded(condition[part]),
  );
  return ranged.length > 0 && ranged.every((part) => orderedParts[part] !== field);
}

function isBounded(range: RangeCondition<string> | null | undefined): boolean {
  const { eq, gte, gt, lte, lt } = range ?? {};
  return (eq ?? gte ?? gt ?? lte ?? lt ?? null) !== null;
}

/** The exact number of matching jobs: from the counters where they know it, else counted. */
function totalOf(viewer: Viewer, condition: JobCondition): Sql {
  const status = statusAlone(condition);
  if (status === undefined || viewer.organizationId === null) {
    return sql`(select count(*)::int from job where ${visibleTo(viewer)} and ${conditionSql(condition)})`;
  }
  const ofStatus = status === null ? raw("") : sql`where value = ${status}`;
  return sql`(select coalesce(sum(counted), 0)::int
    from (${countsOf(viewer.organizationId, "status")}) counts ${ofStatus})`;
}
